package policy

// A later is a field that the language has, and this version does not. It is
// refused, never ignored.
type later struct{ path, name, instead string }

// laterFields lists them. The path is that of what would hold the field.
var laterFields = [...]later{
	{"", "store", "states are kept in the memory of this process; leave it out"},
	{"", "on_error", "the memory of this process does not fail; leave it out"},
	{"listen", "grpc", "Envoy can ask http for a decision before it forwards a request"},
	{"listen", "resp", "ask http: POST /v1/take"},
	{"listen", "admin", "health and metrics are on ops; limits are changed in the file"},
	{"rules[]", "when", "say it with match, ip and headers"},
	{"rules[]", "enforce", "write `shadow: true` to decide without refusing"},
	{"rules[]", "on_error", "the memory of this process does not fail; leave it out"},
}

// notYet says whether a field belongs to a later version, and what to do instead.
func notYet(path, name string) (instead string, ok bool) {
	for _, l := range laterFields {
		if l.path == path && l.name == name {
			return l.instead, true
		}
	}
	return "", false
}

// laterVariables are the beginnings of environment variables that belong to
// fields of later versions.
var laterVariables = [...]string{"WEIR_STORE", "WEIR_ON_ERROR", "WEIR_LISTEN_GRPC", "WEIR_LISTEN_RESP", "WEIR_LISTEN_ADMIN"}
