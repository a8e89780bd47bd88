package agent

import (
	"sort"
	"sync"
)

// problems are what is wrong now, by what it is about.
type problems struct {
	mu   sync.Mutex
	text map[string]string
}

// set notes a problem, or with nil its end, and reports whether that is news.
func (p *problems) set(about string, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.text[about]
	if err == nil {
		delete(p.text, about)
		return before != ""
	}
	if p.text == nil {
		p.text = map[string]string{}
	}
	p.text[about] = err.Error()
	return before != err.Error()
}

func (p *problems) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := []string{}
	for _, text := range p.text {
		list = append(list, text)
	}
	sort.Strings(list)
	return list
}
