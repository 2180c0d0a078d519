package weir

import (
	"slices"
	"strings"
)

// optionWords are all words that may follow a rate or a number of slots.
var optionWords = [...]string{
	"burst", "overdraft",
	"token-bucket", "fixed-window", "sliding-window", "sliding-log", "leaky-bucket",
	"calendar", "wait", "queue", "spread", "lease", "block",
}

func isOption(text string) bool { return slices.Contains(optionWords[:], text) }

// didYouMean names the word that a text was probably meant to be; "" when it is
// like none of them.
func didYouMean(text string, words ...string) string {
	text = strings.ToLower(text)
	best, distance := "", min(3, len(text)) // another word altogether is no slip
	for _, w := range words {
		if d := editDistance(text, w); d < distance {
			best, distance = w, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// longestWord bounds what is compared: no option is longer, and text may come
// from anywhere.
const longestWord = 24

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
