package match

import (
	"unicode"
	"unicode/utf8"
)

// fold makes segments that differ only in the case of letters the same, in
// place, and returns the result. It fits, since a rune's smallest sibling is
// never written longer. Bytes that are no UTF-8 stay: to replace them would put
// different segments together.
func fold(segment []byte) []byte {
	to := segment[:0]
	for i := 0; i < len(segment); {
		if c := segment[i]; c < utf8.RuneSelf {
			to = append(to, byte(foldRune(rune(c))))
			i++
			continue
		}
		r, size := utf8.DecodeRune(segment[i:])
		if r == utf8.RuneError && size == 1 {
			to = append(to, segment[i])
		} else {
			to = utf8.AppendRune(to, foldRune(r))
		}
		i += size
	}
	return to
}

// foldRune returns the smallest of the runes that fold to each other, of ASCII
// letters the small one. (A rune outside ASCII may have a sibling there: the
// Kelvin sign is a k.)
func foldRune(r rune) rune {
	if r >= utf8.RuneSelf {
		for sibling := unicode.SimpleFold(r); sibling != r; sibling = unicode.SimpleFold(sibling) {
			if sibling < r {
				r = sibling
			}
		}
	}
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}
