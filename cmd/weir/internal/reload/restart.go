package reload

import "github.com/weirhq/weir/policy"

// NeedRestart names the fields that differ between two policies and take effect
// with a restart alone: what sockets and the table were made with.
func NeedRestart(old, changed *policy.Config) []string {
	var fields []string
	note := func(field string, differs bool) {
		if differs {
			fields = append(fields, field)
		}
	}
	was, is := old.Listeners(), changed.Listeners()
	listener(note, "listen.proxy", was.Proxy, is.Proxy)
	listener(note, "listen.http", was.HTTP, is.HTTP)
	listener(note, "listen.ops", was.Ops, is.Ops)
	note("memory.max_keys", old.Memory.MaxKeys != changed.Memory.MaxKeys)
	note("memory.on_full", old.Memory.OnFull != changed.Memory.OnFull)
	return fields
}

// listener compares what a listener's socket was made with. Its token and its
// certificate are not among that.
func listener(note func(field string, differs bool), name string, old, changed *policy.Listener) {
	if old == nil || changed == nil {
		note(name, old != changed)
		return
	}
	note(name+".address", old.Address != changed.Address)
	note(name+".tls", (old.TLS == nil) != (changed.TLS == nil))
	note(name+".max_conns", old.MaxConns != changed.MaxConns)
	note(name+".max_conns_per_ip", old.MaxConnsPerIP != changed.MaxConnsPerIP)
}
