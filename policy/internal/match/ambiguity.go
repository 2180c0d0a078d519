package match

// Ambiguity says what lets two readers see different segments in one path. Its
// values are few and fixed, so that its text can be a metric label.
type Ambiguity uint8

// The ambiguities. [Path.Parse] reports the first one in a path.
const (
	// None: whoever decodes each segment once sees the same path.
	None Ambiguity = iota
	// EncodedSlash: a "%2F" is part of a segment for some, and ends it for
	// others.
	EncodedSlash
	// Backslash, raw or as "%5C": a slash for some.
	Backslash
	// ControlByte: NUL, another byte below a space, or DEL, raw or encoded.
	// Some end the text there, or drop it.
	ControlByte
	// DotSegment: "." or "..", also with an escape or with parameters
	// ("%2e%2e", "..;x"). Clients resolve them before they send, so that one
	// that comes is meant for who does not, or does so after decoding or
	// cutting.
	DotSegment
	// BareParameters: a segment that begins with ";" ("/;x/login"). It is
	// empty for those who cut parameters, and a segment for the others.
	BareParameters
	// InvalidEscape: a "%" without two hexadecimal digits. It is a percent
	// sign for some, an error or another notation for others.
	InvalidEscape
	// NoSlash: a path that does not begin with "/", and is not "*". Some put
	// the slash in front, others find no such path.
	NoSlash
	// QueryMark: a raw "?" or "#". Some end the path there. (No request line's
	// path holds a "?": the caller gave more than the path.)
	QueryMark
)

// String returns the name of an ambiguity for people, such as "encoded slash",
// and "unknown" for a value that is not among the constants.
func (a Ambiguity) String() string {
	names := [...]string{
		None:           "none",
		EncodedSlash:   "encoded slash",
		Backslash:      "backslash",
		ControlByte:    "control byte",
		DotSegment:     "dot segment",
		BareParameters: "parameters without a segment",
		InvalidEscape:  "invalid escape",
		NoSlash:        "no slash at the beginning",
		QueryMark:      "raw ? or #",
	}
	if int(a) >= len(names) {
		return "unknown"
	}
	return names[a]
}
