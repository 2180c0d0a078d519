package weir_test

import (
	"net/netip"
	"testing"

	"github.com/weirhq/weir"
)

func BenchmarkKey(b *testing.B) {
	shared, err := weir.NewKeyer([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		b.Fatal(err)
	}
	addr := weir.Addr(netip.MustParseAddr("203.0.113.7"))
	lists := map[string][]weir.Part{
		"1 part":  {addr},
		"3 parts": {weir.Text("tenant", "acme"), weir.Text("header:X-Api-Key", "sk_live_0123456789abcdef"), addr},
	}
	for kind, keyer := range map[string]weir.Keyer{"local": weir.LocalKeyer(), "shared": shared} {
		for name, parts := range lists {
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					keyer.Key(parts...)
				}
			})
		}
	}
}

func BenchmarkAllow(b *testing.B) {
	l := limited(b, "1000000/s")
	ctx, addr := b.Context(), weir.Addr(netip.MustParseAddr("203.0.113.7"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Allow(ctx, addr); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	for name, texts := range map[string][]string{
		"3 limits":  {"1000000/s", "1000000/h", "1000000/day fixed-window"},
		"calendar":  {"1000000/day calendar Europe/Berlin"},
		"16 limits": {"1000/s", "2000/s", "3000/s", "4000/s", "5000/s", "6000/s", "7000/s", "8000/s", "1000/h", "2000/h", "3000/h", "4000/h", "5000/h", "6000/h", "7000/h", "8000/h"},
	} {
		b.Run(name, func(b *testing.B) {
			l := limited(b, texts...)
			ctx, o, addr := b.Context(), new(weir.Outcome), weir.Addr(netip.MustParseAddr("203.0.113.7"))
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Take(ctx, o, 1, addr); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseSpec(b *testing.B) {
	for name, text := range map[string]string{"rate": "10/min", "options": "1000 per 30d burst 50 overdraft 200", "calendar": "1000/month calendar Europe/Berlin", "mistakes": "0/m burst 0 bust"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = weir.ParseSpec(text)
			}
		})
	}
}

func BenchmarkNewLimit(b *testing.B) {
	spec, err := weir.ParseSpec("1000 per 30d burst 50")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := weir.NewLimit("api", spec); err != nil {
			b.Fatal(err)
		}
	}
}
