package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/weirhq/weir/internal/duration"
	"github.com/weirhq/weir/internal/suggest"
)

// A complaint is what is wrong with the text of one value, wherever it was
// written. The zero complaint is none.
type complaint struct{ code, message, hint string }

// scalar decodes one text of the file.
func (d *decoder) scalar(n *yaml.Node, path string, f field, v reflect.Value) {
	text, name := v.Kind() == reflect.String, d.called(path)
	switch {
	case text && n.Tag == "!!bool":
		d.refuseNode("wrong-kind", path, n, fmt.Sprintf("%s must be %s, not %s", name, wanted(v.Type()), n.Value), boolHint(v.Type()))
		return
	case !text && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && v.Kind() != reflect.Struct && !isDuration(v.Type()):
		d.refuseNode("wrong-kind", path, n, fmt.Sprintf("%s must be %s, not a text", name, wanted(v.Type())), "leave the quotes out")
		return
	}
	if c := setText(name, n.Value, f, v); c != (complaint{}) {
		d.refuseNode(c.code, path, n, c.message, c.hint)
	}
}

// boolHint is for true and false where a text belongs.
func boolHint(t reflect.Type) string {
	if wordsOf(t) != nil {
		return "write " + wanted(t)
	}
	return "put it in quotes if it is meant as a text"
}

// setText sets a value from its text: that of a scalar in the file, or of an
// environment variable.
func setText(name, text string, f field, v reflect.Value) complaint {
	switch t := v.Type(); {
	case isDuration(t):
		return setDuration(name, text, f, v)
	case isPrefix(t):
		return setPrefix(name, text, v)
	case t.Kind() == reflect.Bool:
		return setBool(name, text, v)
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return setInteger(name, text, f, v)
	case text == "":
		return complaint{"empty-value", name + " is empty", "write a value, or leave the field out"}
	case wordsOf(t) != nil && !slices.Contains(wordsOf(t), text):
		return wrongWord(name, text, wordsOf(t))
	}
	v.SetString(text)
	return complaint{}
}

// wrongWord refuses a word that is none of those known.
func wrongWord(name, text string, words []string) complaint {
	hint := "write " + strings.Join(words, ", ")
	if near := suggest.DidYouMean(text, words...); near != "" {
		hint = near
	}
	return complaint{"unknown-word", fmt.Sprintf("%s is one of %s, not %q", name, strings.Join(words, ", "), text), hint}
}

func setBool(name, text string, v reflect.Value) complaint {
	if text != "true" && text != "false" {
		hint := "write true or false"
		switch strings.ToLower(text) {
		case "yes", "on", "y", "1", "t", "true":
			hint = "write true"
		case "no", "off", "n", "0", "f", "false":
			hint = "write false"
		}
		return complaint{"wrong-kind", fmt.Sprintf("%s must be true or false, not %s", name, text), hint}
	}
	v.SetBool(text == "true")
	return complaint{}
}

// plainInteger reads a scalar that is a number without any doubt.
func plainInteger(n *yaml.Node) (int64, bool) {
	if n.Kind != yaml.ScalarNode || n.Style != 0 || n.Value == "" || strings.Trim(n.Value, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	return v, err == nil
}

// setInteger reads plain decimal digits. Zero is refused: left out, the field has
// its default, and nothing here is without bound.
func setInteger(name, text string, f field, v reflect.Value) complaint {
	digits := strings.TrimPrefix(text, "-")
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case digits == text && strings.Trim(digits, "0123456789_") == "" && strings.Trim(digits, "_0") != "" && strings.Contains(digits, "_"):
		return complaint{"bad-number", fmt.Sprintf("%s is a whole number, not %q", name, text), "write " + strings.TrimLeft(strings.ReplaceAll(digits, "_", ""), "0")}
	case digits == "" || strings.Trim(digits, "0123456789") != "":
		return complaint{"bad-number", fmt.Sprintf("%s is a whole number, not %q", name, text), "write digits only, such as " + strconv.FormatInt(max(f.min, 1), 10)}
	case len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "0") != "":
		return complaint{"bad-number", fmt.Sprintf("%s %s: leading zeros are read as octal elsewhere", name, text), "write " + strings.TrimLeft(digits, "0")}
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return complaint{"bad-number", fmt.Sprintf("%s is a whole number, not %q", name, text), "write digits only"}
	}
	if c := checkRange(name, text, n, f); err != nil || c != (complaint{}) {
		if c == (complaint{}) {
			c = outOfRange(name, text, n, f)
		}
		return c
	}
	v.SetInt(n)
	return complaint{}
}

// checkRange holds a number against the range of its field. Zero in a file is
// never a default or "no limit".
func checkRange(name, text string, n int64, f field) complaint {
	switch {
	case f.min == 0 && f.max == 0 || f.min <= n && n <= f.max:
		return complaint{}
	case f.min == f.max:
		return complaint{"out-of-range", fmt.Sprintf("%s is %d, not %s", name, f.min, text), fmt.Sprintf("write %d", f.min)}
	case n == 0:
		return complaint{"out-of-range", name + " is at least " + ranged(f, f.min) + "; 0 does not mean without bound", "leave the field out for its default"}
	}
	return outOfRange(name, text, n, f)
}

func outOfRange(name, text string, n int64, f field) complaint {
	hint := "write " + ranged(f, f.max) + " or less"
	if n < f.min {
		hint = "write " + ranged(f, f.min) + " or more"
	}
	return complaint{"out-of-range", fmt.Sprintf("%s is %s to %s, not %s", name, ranged(f, f.min), ranged(f, f.max), text), hint}
}

// ranged prints an end of a field's range.
func ranged(f field, n int64) string {
	if f.typ != nil && isDuration(f.typ) {
		return duration.Format(time.Duration(n))
	}
	return strconv.FormatInt(n, 10)
}

func setDuration(name, text string, f field, v reflect.Value) complaint {
	d, problem, hint := duration.Parse(text)
	if problem == duration.TooLong && f.max > 0 {
		return outOfRange(name, text, int64(duration.Longest), f)
	}
	if problem != "" {
		if strings.Trim(text, "0123456789") == "" && strings.Trim(text, "0") != "" {
			hint = "a number alone has no unit: write " + text + "s, or another such as 5m or 12h"
		}
		return complaint{"bad-duration", fmt.Sprintf("%s %q: %s", name, text, problem), hint}
	}
	if c := checkRange(name, text, int64(d), f); c != (complaint{}) {
		return c
	}
	v.SetInt(int64(d))
	return complaint{}
}

// setPrefix reads a network, or an address as the network of it alone.
func setPrefix(name, text string, v reflect.Value) complaint {
	p, wrong := readPrefix(name, text)
	if wrong == (complaint{}) {
		v.Set(reflect.ValueOf(p))
	}
	return wrong
}

// readPrefix is the network that a text means.
func readPrefix(name, text string) (netip.Prefix, complaint) {
	bad := func(problem, hint string) (netip.Prefix, complaint) {
		return netip.Prefix{}, complaint{"bad-network", fmt.Sprintf("%s %q: %s", name, text, problem), hint}
	}
	const example = "write one such as 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32"
	addr, isAddr := netip.ParseAddr(text)
	p, isPrefix := netip.ParsePrefix(text)
	switch {
	case isAddr == nil && addr.Zone() != "":
		return bad("a network has no zone", "write "+addr.WithZone("").String())
	case isAddr == nil:
		p = netip.PrefixFrom(addr, addr.BitLen())
	case isPrefix != nil:
		return bad("not a network", example)
	}
	switch {
	case p.Addr().Is4In6():
		return bad("an IPv4 network is written as IPv4", unmapped(p))
	case p != p.Masked():
		return bad("bits are set behind the prefix", fmt.Sprintf("write %s for the network, or %s for the address alone", p.Masked(), p.Addr()))
	}
	return p, complaint{}
}

// unmapped is the IPv4 network that an IPv4-mapped one means.
func unmapped(p netip.Prefix) string {
	const mapped = 96 // the bits before the IPv4 address
	if p.Bits() < mapped {
		return "write the IPv4 network, such as 10.0.0.0/8"
	}
	return "write " + netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped).Masked().String()
}
