module github.com/weirhq/weir

go 1.26

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/go-chi/chi/v5 v5.5.0
	github.com/google/go-cmp v0.7.0
	pgregory.net/rapid v1.3.0
)
