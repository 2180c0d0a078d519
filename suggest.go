package weir

// optionWords are all words that may follow a rate.
func optionWords() []string {
	return []string{"burst", "overdraft", "fixed-window", "sliding-window", "sliding-log", "leaky-bucket", "calendar", "wait", "queue", "spread", "block", "lease", "concurrent", "token-bucket"}
}

// didYouMean names the option that a word was probably meant to be.
func didYouMean(text string) string {
	best, distance := "", 3
	for _, w := range optionWords() {
		if d := editDistance(text, w); d < distance {
			best, distance = w, d
		}
	}
	if best == "" {
		return "options are burst, overdraft, fixed-window, sliding-window, sliding-log, leaky-bucket, calendar, wait, queue, spread, block"
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
