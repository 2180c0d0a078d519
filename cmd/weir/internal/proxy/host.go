package proxy

// host is the Host that is decided, and sent on. A request without one is for the
// upstream, whose name net/http writes then.
func (c *call) host() string {
	if c.in.Host == "" && c.settings.upstream != nil {
		return c.settings.upstream.Host
	}
	return c.in.Host
}
