package reload

import (
	"slices"

	"github.com/weirhq/weir/policy"
)

// NeedRestart names the fields that differ between two policies and take effect
// with a restart alone: what sockets and the table were made with.
func NeedRestart(old, changed *policy.Config) []string {
	var fields []string
	note := func(field string, differs bool) {
		if differs {
			fields = append(fields, field)
		}
	}
	listeners(note, "listen.proxy", old.Listen.Proxy, changed.Listen.Proxy)
	listeners(note, "listen.http", old.Listen.HTTP, changed.Listen.HTTP)
	listeners(note, "listen.ops", old.Listen.Ops, changed.Listen.Ops)
	note("upstream", (old.Upstream == "") != (changed.Upstream == ""))
	note("memory.max_keys", old.Memory.MaxKeys != changed.Memory.MaxKeys)
	note("memory.on_full", old.Memory.OnFull != changed.Memory.OnFull)
	return slices.Compact(fields)
}

// listeners compares what a listener's socket was made with. Tokens and the
// content of certificates are read anew, the names of their files are not.
func listeners(note func(field string, differs bool), name string, old, changed *policy.Listener) {
	if old == nil || changed == nil {
		note(name, old != changed)
		return
	}
	note(name+".address", old.Address != changed.Address)
	note(name+".tls", (old.TLS == nil) != (changed.TLS == nil) || old.TLS != nil && *old.TLS != *changed.TLS)
	note(name+".max_conns", old.MaxConns != changed.MaxConns)
	note(name+".max_conns_per_ip", old.MaxConnsPerIP != changed.MaxConnsPerIP)
}
