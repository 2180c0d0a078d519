package token

import (
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// size returns how many tokens are remembered.
func (m *memory) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.young) + len(m.old)
}

func small(tb testing.TB, most int) *Verifier {
	tb.Helper()
	return mustNew(tb, Config{
		Keys: []byte(secret), Algorithms: []string{"HS256"}, Claims: []string{"sub"}, MaxTokens: most, Leeway: time.Second,
	})
}

func TestS46MemoryIsBounded(t *testing.T) {
	for _, most := range []int{2, 3, 10} {
		v := small(t, most)
		for i := range 5 * most {
			if got := reasonOf(t, v, hs(t, fmt.Sprintf(`{"sub":"%d"}`, i))); got != None {
				t.Fatal(got)
			}
			if got := v.memory.size(); got > most || got == 0 {
				t.Fatalf("%d tokens are remembered of at most %d", got, most)
			}
		}
	}
}

// TestS46UsedTokensStay: whoever comes again and again is not forgotten for
// those who come once.
func TestS46UsedTokensStay(t *testing.T) {
	v := small(t, 10)
	used := hs(t, `{"sub":"alice"}`)
	first, _ := v.Verify(used, noon())
	for i := range 100 {
		reasonOf(t, v, hs(t, fmt.Sprintf(`{"sub":"%d"}`, i)))
		again, err := v.Verify(used, noon())
		if err != nil || again != first {
			t.Fatalf("after %d others it is verified anew", i)
		}
	}
}

func TestS46ExpiredTokensAreDropped(t *testing.T) {
	v := small(t, 10)
	token := hs(t, fmt.Sprintf(`{"exp":%d}`, noon().Unix()))
	if got := reasonAt(t, v, token, noon()); got != None || v.memory.size() != 1 {
		t.Fatalf("%v, %d remembered", got, v.memory.size())
	}
	if got := reasonAt(t, v, token, noon().Add(time.Second)); got != Expired || v.memory.size() != 0 {
		t.Errorf("%v, %d remembered", got, v.memory.size())
	}
}

func TestS46FailuresAreNotRemembered(t *testing.T) {
	v := small(t, 10)
	for _, token := range []string{
		"a.b.c", hs(t, `{"exp":1}`), hs(t, `{"nbf":4000000000}`), hs(t, `{"exp":"x"}`), hs(t, `[]`),
		sign(t, "HS256", []byte("other"), `{"alg":"HS256"}`, `{}`),
	} {
		if got := reasonOf(t, v, token); got == None {
			t.Error("a wrong token is believed")
		}
	}
	if got := v.memory.size(); got != 0 {
		t.Errorf("%d are remembered", got)
	}
}

// TestS46MemoryChangesNoAnswer runs the same tape through a Verifier and through
// one that is new at each step, and so remembers nothing. The clock may run back.
func TestS46MemoryChangesNoAnswer(t *testing.T) {
	at := noon().Unix()
	var tokens []string
	for i := range 6 {
		tokens = append(tokens,
			hs(t, fmt.Sprintf(`{"sub":"a%d","exp":%d}`, i, at+int64(i))),
			hs(t, fmt.Sprintf(`{"sub":"b%d","nbf":%d}`, i, at+int64(i))),
			hs(t, fmt.Sprintf(`{"sub":"c%d","nbf":%d,"exp":%d}`, i, at, at+int64(i))))
	}
	tokens = append(tokens, hs(t, `{"sub":"d"}`), hs(t, `{"exp":-1}`), hs(t, `{"sub":"d"}`)+"A", "", "a.b.c")
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(2, 8).Draw(t, "most")
		c := Config{Keys: []byte(secret), Algorithms: []string{"HS256"}, Claims: []string{"sub"}, MaxTokens: most, Leeway: time.Second}
		v, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			token := rapid.SampledFrom(tokens).Draw(t, "token")
			now := noon().Add(time.Duration(rapid.IntRange(-8, 16).Draw(t, "halves")) * time.Second / 2)
			plain, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			wantClaims, wantErr := plain.Verify(token, now)
			gotClaims, gotErr := v.Verify(token, now)
			want, _, _ := wantClaims.Value("sub")
			got, _, _ := gotClaims.Value("sub")
			if got != want || !errors.Is(gotErr, wantErr) || v.memory.size() > most {
				t.Fatalf("%s at %v: %q %v, without memory %q %v", token, now, got, gotErr, want, wantErr)
			}
		}
	})
}

func TestS46ConcurrentUse(t *testing.T) {
	v := small(t, 8)
	var tokens []string
	for i := range 16 {
		tokens = append(tokens, hs(t, fmt.Sprintf(`{"sub":"%d","exp":%d}`, i, noon().Unix()+int64(i))))
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for step := range 200 {
				i := (step*7 + g) % len(tokens)
				now := noon().Add(time.Duration(step%32) * time.Second)
				c, err := v.Verify(tokens[i], now)
				alive := step%32 < i+1 // a second of leeway
				sub, _, _ := c.Value("sub")
				if alive != (err == nil) || alive && sub != fmt.Sprint(i) {
					t.Errorf("token %d at second %d: %q, %v", i, step%32, sub, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := v.memory.size(); got > 8 {
		t.Errorf("%d are remembered", got)
	}
}

// common is a token of some 500 bytes, and its Verifier.
func common(tb testing.TB) (*Verifier, string) {
	tb.Helper()
	k := newEC(tb, elliptic.P256())
	v := mustNew(tb, Config{Keys: pemOf(tb, &k.PublicKey), Algorithms: []string{"ES256"}, Claims: []string{"sub", "plan"}})
	payload := fmt.Sprintf(`{"iss":"https://id.example","sub":"alice","plan":"gold","exp":%d,"pad":"%s"}`,
		noon().Unix()+300, strings.Repeat("x", 185))
	return v, sign(tb, "ES256", k, `{"alg":"ES256","typ":"JWT","kid":"2026-11"}`, payload)
}

// TestAllocationsOfRememberedTokensS46: the bytes that are hashed, and no more.
func TestAllocationsOfRememberedTokensS46(t *testing.T) {
	v, token := common(t)
	if len(token) < 490 || len(token) > 510 {
		t.Fatalf("%d bytes", len(token))
	}
	if got := reasonOf(t, v, token); got != None {
		t.Fatal(got)
	}
	if got := testing.AllocsPerRun(100, func() { v.Verify(token, noon()) }); got > 1 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkVerify(b *testing.B) {
	v, token := common(b)
	b.Run("remembered", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.Verify(token, noon())
		}
	})
	b.Run("remembered, parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				v.Verify(token, noon())
			}
		})
	})
	id := digest(sha256.Sum256([]byte(token)))
	b.Run("new, ES256", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.memory.forget(id)
			v.Verify(token, noon())
		}
	})
	b.Run("garbage", func(b *testing.B) {
		b.ReportAllocs()
		garbage := strings.Repeat("a", 4000) + "." + strings.Repeat("a", 4000) + ".a"
		for b.Loop() {
			v.Verify(garbage, noon())
		}
	})
}

// BenchmarkRemember fills a memory of the default size without end, so that the
// change of generations has its share.
func BenchmarkRemember(b *testing.B) {
	m, c := newMemory(mostTokens), &Claims{}
	var d digest
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		binary.LittleEndian.PutUint64(d[:], i)
		m.remember(d, c)
	}
}
