package strategy

// firstOf returns the first of what there is that is wanted.
func firstOf[T comparable](have, wanted []T) (match T, found bool) {
	for _, h := range have {
		for _, w := range wanted {
			if h == w {
				return h, true
			}
		}
	}
	return match, false
}
