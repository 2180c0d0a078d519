// Package decide is the decision service over HTTP and JSON, and its client.
//
//	POST /v1/take     one limit that the caller brings, for one key
//	POST /v1/check    a request, by the rules: charged as if it had been made
//	POST /v1/explain  the same, charging nothing, with every reason
//
// Whoever may call it is believed in what it says of others. An answer is 200
// whenever something was decided, refusals included; what cannot be decided is a
// problem document that names every field and what to write instead. Bodies are
// read strictly: what is not understood is not ignored.
//
// docs/api.md has the shapes.
package decide
