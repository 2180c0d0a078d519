package clientip

import (
	"net/netip"
	"strings"
)

// A dialect is how one header writes addresses.
type dialect struct {
	list   bool // elements joined by commas, not one value
	quoted bool // elements may hold quoted strings
	parse  func(element string) (netip.Addr, bool)
}

// dialectOf returns the dialect of a header by its canonical name.
func dialectOf(header string) dialect {
	switch header {
	case "X-Forwarded-For":
		return dialect{list: true, parse: parsePlain}
	case "Forwarded":
		return dialect{list: true, quoted: true, parse: parseForwarded}
	case "Cloudfront-Viewer-Address":
		return dialect{parse: parseViewer}
	}
	return dialect{parse: parsePlain}
}

// parsePlain reads an address with or without a port.
func parsePlain(element string) (netip.Addr, bool) {
	return parseHop(element, isPort)
}

// parseForwarded reads the for= parameter of an element of Forwarded.
func parseForwarded(element string) (netip.Addr, bool) {
	node, ok := forNode(element)
	if !ok {
		return netip.Addr{}, false
	}
	return parseHop(node, isNodePort)
}

// parseViewer reads CloudFront's address and port. It writes IPv6 without
// brackets, so that only the last colon tells where the port begins.
func parseViewer(element string) (netip.Addr, bool) {
	i := strings.LastIndexByte(element, ':')
	if i < 0 || !isPort(element[i+1:]) {
		return netip.Addr{}, false
	}
	return parseHop(element[:i], noPort)
}

func noPort(string) bool { return false }
