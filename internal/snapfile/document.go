package snapfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// document is one document of a file while it is read.
type document struct {
	*file
	number int
	items  int // met so far, the one that is being read included
	list   typeName
	split  bool // the items are handed on one by one
	// pending are items that can only be understood once the kind of the list is known, because they do not tell their own.
	pending []pendingItem
}

type pendingItem struct {
	raw    []byte
	number int
	line   int
}

// begin is told what of the document comes before its items, and returns whether the items should be handed on one by one: not when
// the document is known to be something else than a list.
func (d *document) begin(head []byte) bool {
	d.list.apiVersion, d.list.kind, _ = typeOf(head) // what is wrong is said at the end
	d.split = d.list.kind == "" || isList(d.list.kind)
	return d.split
}

func isList(kind string) bool { return strings.HasSuffix(kind, "List") }

// item takes the next item of a list. The bytes are not kept.
func (d *document) item(raw []byte, line int) error {
	where := d.place(d.items, line)
	apiVersion, kind, problem := typeOf(raw)
	if problem != nil {
		return d.b.errorAt(where, "", problem)
	}
	if kind == "" && d.list.kind == "" {
		d.pending = append(d.pending, pendingItem{raw: bytes.Clone(raw), number: d.items, line: line})
		return nil
	}
	return d.listItem(apiVersion, kind, raw, where)
}

// listItem takes an item of a list whose kind is known: items of typed lists have their type from it.
func (d *document) listItem(apiVersion, kind string, raw []byte, where place) error {
	if kind == "" {
		kind, apiVersion = strings.TrimSuffix(d.list.kind, "List"), d.list.apiVersion
	}
	return d.b.object(typeName{apiVersion, kind}, raw, where)
}

// listHead is what a list has beside the items that were handed on.
type listHead struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// end takes the document less the items that were handed on.
func (d *document) end(raw []byte, line int) error {
	where := d.place(0, line)
	if !utf8.Valid(raw) {
		return d.b.errorAt(where, "", &fieldError{err: errNotUTF8})
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		d.documents-- // an empty document is none
		return nil
	}
	apiVersion, kind, problem := typeOf(raw)
	switch {
	case problem != nil:
		return d.b.errorAt(where, "", problem)
	case kind == "" && d.items > 0:
		return fmt.Errorf("there are items but no kind, which kubectl writes after them: %w", errCutShort)
	case !isList(kind) && d.items > 0:
		return fmt.Errorf("an object of kind %q has items: expected a kind that ends with List", kind)
	case isList(kind) && (d.split || kind == "List" || hasItems(raw)):
		return d.endList(typeName{apiVersion, kind}, raw, where)
	}
	return d.b.object(typeName{apiVersion, kind}, raw, where)
}

func (d *document) endList(t typeName, raw []byte, where place) error {
	head, problem := decode[listHead](raw)
	if problem != nil {
		return d.b.errorAt(where, t.kind, problem)
	}
	d.list = t
	for _, p := range d.pending {
		if err := d.listItem("", "", p.raw, d.place(p.number, p.line)); err != nil {
			return err
		}
	}
	for _, item := range head.Items {
		d.items++
		if err := d.item(item, int(where.line)); err != nil {
			return err
		}
	}
	d.b.listed[strings.TrimSuffix(t.kind, "List")] = true
	if head.Metadata.Continue != "" {
		d.b.note("%s, %s: the list is one page of several; if the others are not among the files, objects are missing", d.name, where)
	}
	return nil
}

func hasItems(raw []byte) bool {
	object, problem := decode[map[string]json.RawMessage](raw)
	if problem != nil {
		return false
	}
	_, has := (*object)["items"]
	return has
}

var errNotUTF8 = errors.New("not UTF-8")

func (d *document) place(item, line int) place {
	return place{file: int32(d.index), document: int32(d.number), item: int32(item), line: int32(line)}
}

// located adds to a mistake in the form of the document where it is.
func (d *document) located(err error) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	if d.b.last != "" && errors.Is(err, errCutShort) {
		err = fmt.Errorf("%w; the last whole object is %s", err, d.b.last)
	}
	return d.b.errorAt(d.place(d.items, 0), "", &fieldError{err: err})
}
