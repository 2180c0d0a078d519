package match

// Set finds the rules that a request fits. It is made by [NewSet], immutable,
// and safe for concurrent use. The zero Set has no rules.
type Set struct {
	fold  bool
	wide  []entry            // rules for which every first segment will do
	first map[string][]entry // the others, by their first segment
}

// An entry is one pattern of a rule; entries are in the order of the rules.
type entry struct {
	rule    int
	pattern *Pattern // nil: every request
}

// NewSet makes the set of some rules, each with its patterns, of which a request
// has to fit one. A rule without patterns fits every request. The paths that
// the set is asked about must have been parsed with the same options.
func NewSet(rules [][]*Pattern, o Options) *Set {
	s := &Set{fold: o.Fold, first: make(map[string][]entry)}
	for rule, patterns := range rules {
		if len(patterns) == 0 {
			s.wide = append(s.wide, entry{rule: rule})
		}
		for _, p := range patterns {
			s.add(entry{rule, p})
		}
	}
	return s
}

func (s *Set) add(e entry) {
	if len(e.pattern.segments) == 0 || e.pattern.segments[0].name != "" {
		s.wide = append(s.wide, e)
		return
	}
	first := e.pattern.segments[0].literal(s.fold)
	s.first[first] = append(s.first[first], e)
}

// Match appends to dst the rules that a request fits, by their index, ascending
// and each once. Method, host and path are those of [Pattern.Fits]. It does not
// allocate if dst has room, and looks only at rules that begin with the path's
// first segment or with none in particular.
func (s *Set) Match(method, host string, p *Path, dst []int) []int {
	name, last := hostname(host), -1
	wide, first := s.wide, []entry(nil)
	if len(p.segments) > 0 {
		first = s.first[string(p.segment(0))]
	}
	for len(wide)+len(first) > 0 {
		var e entry
		if len(first) == 0 || len(wide) > 0 && wide[0].rule < first[0].rule {
			e, wide = wide[0], wide[1:]
		} else {
			e, first = first[0], first[1:]
		}
		if e.rule != last && (e.pattern == nil || e.pattern.fits(method, name, p)) {
			dst, last = append(dst, e.rule), e.rule
		}
	}
	return dst
}
