package weir

import "slices"

// optionWords are all words that may follow a rate or a number of slots.
var optionWords = [...]string{
	"burst", "overdraft",
	"token-bucket", "fixed-window", "sliding-window", "sliding-log", "leaky-bucket",
	"calendar", "wait", "queue", "spread", "lease", "block",
}

func isOption(text string) bool { return slices.Contains(optionWords[:], text) }
