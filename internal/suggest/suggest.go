package suggest

import "strings"

// Closest is the word that a text is most like; "" when it is like none of them:
// another word altogether is no slip. Case does not count in text.
func Closest(text string, words ...string) string {
	const most = 2
	return nearest(text, min(most, (len(text)-1)/2), words)
}

// Slip is the word that was meant by a text but for one letter that is wrong, missing
// or too many, or two that stand in another order; "" for every other text, and for the
// words themselves.
func Slip(text string, words ...string) string {
	meant := nearest(text, 1, words)
	if strings.EqualFold(meant, text) {
		return ""
	}
	return meant
}

// DidYouMean asks whether the closest word was meant; "" when there is none.
func DidYouMean(text string, words ...string) string {
	if best := Closest(text, words...); best != "" {
		return "did you mean " + best + "?"
	}
	return ""
}

// nearest is the first of the words with the fewest slips, most at most.
func nearest(text string, most int, words []string) (best string) {
	text = strings.ToLower(text)
	for _, w := range words {
		if d := slips(text, strings.ToLower(w)); d <= most {
			best, most = w, d-1
		}
	}
	return best
}

// longestWord bounds what is compared: no word of ours is longer, and text may
// come from anywhere.
const longestWord = 48

// slips counts the insertions, deletions and substitutions between two short words,
// and the swaps of neighbours (the optimal string alignment distance).
func slips(a, b string) int {
	if len(a) > longestWord || len(b) > longestWord {
		return longestWord
	}
	var rows [longestWord + 1][longestWord + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		rows[i][0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j-1]+cost, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
