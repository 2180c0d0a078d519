package suggest

import "strings"

// Closest is the word that a text is most like; "" when it is like none of them:
// another word altogether is no slip. Case does not count in text.
func Closest(text string, words ...string) string {
	text = strings.ToLower(text)
	best, distance := "", min(3, len(text))
	for _, w := range words {
		if d := editDistance(text, strings.ToLower(w)); d < distance {
			best, distance = w, d
		}
	}
	return best
}

// DidYouMean asks whether the closest word was meant; "" when there is none.
func DidYouMean(text string, words ...string) string {
	if best := Closest(text, words...); best != "" {
		return "did you mean " + best + "?"
	}
	return ""
}

// longestWord bounds what is compared: no word of ours is longer, and text may
// come from anywhere.
const longestWord = 48

// editDistance counts the insertions, deletions and substitutions between two
// short words (Levenshtein).
func editDistance(a, b string) int {
	if len(a) > longestWord || len(b) > longestWord {
		return longestWord
	}
	var row [longestWord + 1]int
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
