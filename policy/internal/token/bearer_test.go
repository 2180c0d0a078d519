package token

import "testing"

func TestFromAuthorization(t *testing.T) {
	f := func(value, want string) {
		t.Helper()
		got, ok := FromAuthorization(value)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", value, got, ok)
		}
	}
	f("Bearer a.b-_c", "a.b-_c")
	f("bearer a", "a")
	f("BEARER a", "a")
	f("Bearer   a", "a")
	f("Bearer aZ09-._~+/==", "aZ09-._~+/==")
	f("", "")
	f("Bearer", "")
	f("Bearer ", "")
	f("Bearer =", "")
	f(" Bearer a", "")
	f("Bearer\ta", "")
	f("Bearer \ta", "")
	f("Bearer a ", "")
	f("Bearer a b", "")
	f("Bearer a=b", "")
	f("Bearer a,b", "")
	f("Bearer a, Bearer b", "")
	f("Bearer a\x00", "")
	f("Bearer a[", "")
	f("Bearer a@", "")
	f("Bearer ä", "")
	f("Bearera", "")
	f("Basic YTpi", "")
	f("DPoP a", "")
	f("\u0042earer a", "a")
	f("Bearer\u017f a", "")
}
