package policy

// rule is a compiled Rule.
type rule struct{}

// exemption is a compiled Exempt.
type exemption struct{}
