package house

import (
	"slices"
	"strings"
	"testing"
)

// A room is what the house says about one package.
type room struct {
	path    string   // its folder; with "/...", also every folder below
	floor   int      // arrows run down
	house   []string // the packages of the repository that its code may import
	modules []string // the third-party modules that its code may import
}

const everything = "..." // as an entry of room.house

// library lists the packages that a user of the root module can import.
var library = []string{
	".", "accesslog", "algorithm", "clientip", "header", "httplimit", "memstore", "storetest", "tier",
}

// rooms is the whole house. A package that is not here does not belong; a
// package of the root module needs a very good reason for an entry under
// modules.
var rooms = []room{
	// The root module. Its users get the standard library and nothing else.
	{path: "algorithm", floor: 0},
	{path: "clientip", floor: 1, house: []string{"internal/httpsyntax"}},
	{path: "accesslog", floor: 0},
	{path: "internal/table", floor: 0},
	{path: "internal/duration", floor: 0},
	{path: "internal/hold", floor: 0},
	{path: "internal/house", floor: 0},
	{path: "internal/httpsyntax", floor: 0},
	{path: "internal/suggest", floor: 0},
	{path: ".", floor: 1, house: []string{"algorithm", "internal/duration", "internal/suggest"}},
	{path: "internal/expect", floor: 2, house: []string{"."}},
	{path: "memstore", floor: 2, house: []string{".", "algorithm", "internal/table"}},
	{path: "header", floor: 2, house: []string{"."}},
	{path: "tier", floor: 3, house: []string{".", "internal/table"}},
	{path: "httplimit", floor: 3, house: []string{".", "header", "clientip", "internal/duration", "internal/expect", "internal/hold", "internal/httpsyntax"}},
	// Not algorithm: the oracle shares no arithmetic with what it judges.
	{path: "storetest", floor: 3, house: []string{"."}, modules: []string{
		"github.com/anishathalye/porcupine",
	}},
	{path: "examples/...", floor: 4, house: library},

	// Modules of their own.
	{path: "redisstore", floor: 2, house: []string{".", "algorithm"}, modules: []string{
		"github.com/redis/rueidis",
	}},
	{path: "redisstore/goredis", floor: 3, house: []string{".", "redisstore"}, modules: []string{
		"github.com/redis/go-redis/v9",
	}},
	{path: "grpclimit", floor: 3, house: []string{"."}, modules: []string{
		"google.golang.org/grpc",
	}},
	{path: "policy/internal/match", floor: 3, house: []string{"internal/httpsyntax"}},
	{path: "policy/internal/token", floor: 3, house: []string{"internal/httpsyntax"}, modules: []string{
		"github.com/golang-jwt/jwt/v5",
	}},
	{path: "policy", floor: 4, house: []string{".", "clientip", "internal/duration", "internal/expect", "internal/httpsyntax", "internal/suggest", "policy/internal/match", "policy/internal/token"}, modules: []string{
		"cel.dev/cel-go",
		"go.yaml.in/yaml/v4",
	}},
	{path: "contrib/ginlimit", floor: 4, house: []string{".", "httplimit"}, modules: []string{
		"github.com/gin-gonic/gin",
	}},
	{path: "contrib/echolimit", floor: 4, house: []string{".", "httplimit"}, modules: []string{
		"github.com/labstack/echo/v4",
	}},
	{path: "cmd/weir/...", floor: 5, house: []string{everything}, modules: []string{
		"github.com/envoyproxy/go-control-plane/envoy",
		"github.com/klauspost/compress",
		"github.com/prometheus/client_golang",
		"github.com/spf13/cobra",
		"go.opentelemetry.io/otel",
		"golang.org/x/sys",
		"google.golang.org/grpc",
	}},
}

// testModules may be imported by the tests of any package.
var testModules = []string{
	"github.com/anishathalye/porcupine",
	"github.com/go-chi/chi/v5",
	"github.com/golang-jwt/jwt/v5",
	"github.com/google/go-cmp",
	"github.com/invopop/jsonschema",
	"github.com/rogpeppe/go-internal",
	"github.com/santhosh-tekuri/jsonschema/v6",
	"golang.org/x/net",
	"pgregory.net/rapid",
}

func TestArrows(t *testing.T) {
	hold(t, rule{
		name:   "arrows",
		remedy: "move the code to the floor it belongs to; a new package gets its line in rooms, internal/house/arrows_test.go",
		check:  checkArrows,
	})
}

func TestTestImports(t *testing.T) {
	hold(t, rule{
		name:   "test imports",
		remedy: "use the standard library, or one of testModules in internal/house/arrows_test.go",
		check:  checkTestImports,
	})
}

func TestRoomsRunDown(t *testing.T) {
	for _, r := range rooms {
		for _, below := range r.house {
			if to, ok := roomOf(below); below != everything && (!ok || to.floor >= r.floor) {
				t.Errorf("rooms: the arrow from %s to %s does not run down", r.path, below)
			}
		}
	}
}

func checkArrows(tr *tree, report reporter) {
	for _, d := range tr.folders {
		if outside(d.module) {
			continue
		}
		r, ok := roomOf(d.path)
		if !ok {
			report(d.files[0].ast.Package, "package %s has no room", d.path)
			continue
		}
		for f := range d.code() {
			for spec, imp := range f.imports() {
				if !r.admits(imp) {
					report(spec.Pos(), "%s imports %s", d.path, imp)
				}
			}
		}
	}
}

func checkTestImports(tr *tree, report reporter) {
	for f := range tr.all() {
		if !f.test() || outside(f.module) {
			continue
		}
		r, _ := roomOf(f.path)
		for spec, imp := range f.imports() {
			if _, ours := inHouse(imp); !ours && !standard(imp) && !within(imp, r.modules) && !within(imp, testModules) {
				report(spec.Pos(), "a test imports %s", imp)
			}
		}
	}
}

// outside reports whether a module stands beside the house: the benchmarks
// import the peers, and the tools are no part of what is built here.
func outside(module string) bool { return module == "bench" || module == "tools" }

// roomOf finds the room of a folder.
func roomOf(dir string) (room, bool) {
	for _, r := range rooms {
		if r.path == dir || r.holds(dir) {
			return r, true
		}
	}
	return room{}, false
}

// admits reports whether the code of r may import imp.
func (r room) admits(imp string) bool {
	if dir, ours := inHouse(imp); ours {
		return slices.Contains(r.house, dir) || slices.Contains(r.house, everything) || r.holds(dir)
	}
	return standard(imp) || within(imp, r.modules)
}

// holds reports whether r stands for many folders, dir among them.
func (r room) holds(dir string) bool {
	base, wide := strings.CutSuffix(r.path, "/...")
	return wide && below(dir, base)
}

// within reports whether an import path lies in one of the modules.
func within(imp string, modules []string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return below(imp, m) })
}
