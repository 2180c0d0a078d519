package match

// Overlaps reports whether there is a request that fits both patterns.
func Overlaps(a, b *Pattern, o Options) bool {
	return (a.fitsMethod(b.method) || b.fitsMethod(a.method)) &&
		(a.host == "" || b.host == "" || a.host == b.host) &&
		pathsOverlap(a, b, o)
}

// Covers reports whether every request that fits b fits a. That several
// patterns cover b only together is not seen.
func Covers(a, b *Pattern, o Options) bool {
	return a.fitsMethod(b.method) &&
		(a.host == "" || a.host == b.host) &&
		pathCovers(a, b, o)
}

// pathsOverlap looks for a common path: one as long as the longer pattern.
func pathsOverlap(a, b *Pattern, o Options) bool {
	if len(a.segments) > len(b.segments) {
		a, b = b, a
	}
	for i := range a.segments {
		x, y := &a.segments[i], &b.segments[i]
		if x.name == "" && y.name == "" && x.literal(o.Fold) != y.literal(o.Fold) {
			return false
		}
	}
	if len(a.segments) < len(b.segments) {
		return a.tail == below
	}
	return !o.KeepSlash || (a.tail == exact) == (b.tail == exact)
}

// pathCovers compares segment by segment, then what may follow.
func pathCovers(a, b *Pattern, o Options) bool {
	if len(a.segments) > len(b.segments) {
		return false
	}
	for i := range a.segments {
		x, y := &a.segments[i], &b.segments[i]
		if x.name == "" && (y.name != "" || x.literal(o.Fold) != y.literal(o.Fold)) {
			return false
		}
	}
	switch {
	case len(a.segments) < len(b.segments) || b.tail == below:
		return a.tail == below
	case o.KeepSlash:
		return (a.tail == exact) == (b.tail == exact)
	}
	return true
}
