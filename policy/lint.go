package policy

// lint looks for what is valid and may do harm.
func (c *compiler) lint() {}
