package proxy

import (
	"encoding/json"
	"net/http"
)

// demo answers instead of an upstream, with what it saw of the request.
func (c *call) demo() {
	c.leaveBody()
	text, err := json.Marshal(struct {
		Service string `json:"service"`
		Method  string `json:"method"`
		Host    string `json:"host"`
		Path    string `json:"path"`
	}{"weir demo", c.in.Method, c.in.Host, c.target.raw})
	if err != nil {
		c.problem(http.StatusInternalServerError, "the answer cannot be written")
		return
	}
	h := c.out.Header()
	c.settings.header.Write(h, &c.outcome)
	c.settings.header.Expose(h, c.in)
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if c.in.Method != http.MethodHead {
		_, _ = c.out.Write(append(text, '\n'))
	}
}
