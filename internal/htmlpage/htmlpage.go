// Package htmlpage is what the product's HTML pages have in common: one look, light and dark, on a screen and on paper, in a file that
// needs nothing else.
package htmlpage

import (
	_ "embed"
	"fmt"
	"html/template"
)

//go:embed style.css
var style string

// Parse parses the text of a page. Its <style> element begins with {{template "style"}}, which sets the colours, the type and the cards; parts
// are further templates by name.
func Parse(text string, parts map[string]string) (*template.Template, error) {
	t, err := template.New("page").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	if _, err := t.New("style").Parse(style); err != nil {
		return nil, fmt.Errorf("style of the page: %w", err)
	}
	for name, part := range parts {
		if _, err := t.New(name).Parse(part); err != nil {
			return nil, fmt.Errorf("page: %s: %w", name, err)
		}
	}
	return t, nil
}
