package snapfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// yamlDocument is one YAML document while its lines are read. The items of a list in block style, as kubectl prints it, are converted one by one:
// a line at the indentation of the list that starts with a dash can be nothing else than the start of the next item, since everything inside an
// item is indented further.
type yamlDocument struct {
	*document
	head     bytes.Buffer // the lines outside the items
	headLine int          // of the first of them

	inItems  bool
	itemsRow []byte // the line that started the list, until its first item is met
	indent   int    // of the dashes; -1 until the first is met
	text     bytes.Buffer
	textLine int
}

// readYAML reads YAML documents.
func (f *file) readYAML(r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var d *yamlDocument
	finish := func() error {
		if d == nil {
			return nil
		}
		err := d.finish()
		if err != nil {
			err = d.located(err)
		}
		d = nil
		return err
	}
	for number := 1; ; number++ {
		line, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return f.errorf("line %d: %w", number, inside(err))
		}
		if len(line) > 0 {
			rest, separates := separator(line)
			if separates {
				if err := finish(); err != nil {
					return err
				}
				line = rest
			}
			if len(line) > 0 {
				if d == nil {
					d = &yamlDocument{document: f.document()}
				}
				if err := d.line(line, number); err != nil {
					return d.located(err)
				}
			}
		}
		if err != nil {
			return finish()
		}
	}
}

// readLine returns the next line with its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := in.ReadSlice('\n')
		if whole == nil && err == nil {
			return part, nil
		}
		whole = append(whole, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
		if len(whole) > maxObject {
			return nil, errTooLong
		}
	}
}

// separator reports whether a line ends the document before it, and returns what it holds of the next.
func separator(line []byte) (rest []byte, ok bool) {
	for _, mark := range []string{"---", "..."} {
		after, found := bytes.CutPrefix(line, []byte(mark))
		if found && (len(after) == 0 || bytes.IndexByte([]byte(" \t\r\n"), after[0]) >= 0) {
			if after = bytes.TrimLeft(after, " \t\r\n"); len(after) > 0 && after[0] == '#' {
				after = nil
			}
			return after, true
		}
	}
	return line, false
}

// line takes the next line of the document.
func (d *yamlDocument) line(line []byte, number int) error {
	if d.inItems {
		taken, err := d.itemsLine(line, number)
		if taken || err != nil {
			return err
		}
	}
	if startsItems(line) {
		raw, err := toJSON(d.head.Bytes())
		if err == nil && d.begin(raw) {
			d.inItems, d.indent, d.itemsRow = true, -1, bytes.Clone(line)
			return nil
		}
	}
	if d.head.Len() == 0 {
		if line[0] == '%' {
			return nil // a directive
		}
		d.headLine = number
	}
	if d.head.Len()+len(line) > maxObject {
		return errTooLong
	}
	d.head.Write(line)
	return nil
}

// startsItems reports whether a line is the key "items" of the outermost mapping, its value below it.
func startsItems(line []byte) bool {
	after, ok := bytes.CutPrefix(line, []byte("items:"))
	if !ok {
		return false
	}
	value := bytes.TrimLeft(after, " \t\r\n")
	return len(value) == 0 || value[0] == '#' && len(value) < len(after)
}

// itemsLine takes a line while the items are read; it returns false when the items are over.
func (d *yamlDocument) itemsLine(line []byte, number int) (bool, error) {
	indent, blank, dash := d.lineKind(line)
	switch {
	case blank && d.indent < 0:
		return true, nil
	case d.indent < 0 && !dash: // no list in block style after all
		d.inItems = false
		d.head.Write(d.itemsRow)
		return false, nil
	case d.indent < 0 || dash && indent == d.indent:
		if err := d.flush(); err != nil {
			return true, err
		}
		d.indent, d.textLine = indent, number
	case !blank && indent <= d.indent:
		d.inItems = false
		return false, d.flush()
	}
	if d.text.Len()+len(line) > maxObject {
		return true, errTooLong
	}
	d.text.Write(line)
	return true, nil
}

// lineKind measures the indentation of a line, and tells blank lines and comments, and lines that begin an item of a list, from others.
func (d *yamlDocument) lineKind(line []byte) (indent int, blank, dash bool) {
	text := bytes.TrimLeft(line, " ")
	indent = len(line) - len(text)
	text = bytes.TrimRight(text, "\r\n")
	if len(bytes.TrimLeft(text, "\t")) == 0 || text[0] == '#' {
		return indent, true, false
	}
	if text[0] == '\t' {
		indent = d.indent + 1 // YAML has no indentation by tabs: let the YAML library say so
	}
	return indent, false, text[0] == '-' && (len(text) == 1 || text[1] == ' ' || text[1] == '\t')
}

// flush hands on the item whose lines were read.
func (d *yamlDocument) flush() error {
	if d.text.Len() == 0 {
		return nil
	}
	d.items++
	raw, err := toJSON(d.text.Bytes())
	if err != nil {
		return d.yamlError(err, d.items, d.textLine)
	}
	d.text.Reset()
	if len(raw) < 2 || raw[0] != '[' {
		return d.yamlError(errors.New("expected an item of the list"), d.items, d.textLine)
	}
	return d.document.item(raw[1:len(raw)-1], d.textLine)
}

func (d *yamlDocument) finish() error {
	if err := d.flush(); err != nil {
		return err
	}
	raw, err := toJSON(d.head.Bytes())
	if err != nil {
		return d.yamlError(err, 0, d.headLine)
	}
	return d.end(raw, d.headLine)
}

// toJSON converts YAML; a key that is there twice is an error. Documents that grow by means of aliases are refused by the YAML library.
func toJSON(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		number := 0
		for line := range bytes.Lines(text) {
			if !utf8.Valid(line) {
				return nil, invalidLine(number)
			}
			number++
		}
	}
	raw, err := yaml.YAMLToJSONStrict(text)
	if unsupported := (*json.UnsupportedValueError)(nil); errors.As(err, &unsupported) {
		if odd := findNotFinite(text); odd != nil {
			return nil, odd
		}
	}
	return raw, err
}

// invalidLine is the error for a line, counted from 0, that is not UTF-8.
type invalidLine int

func (invalidLine) Error() string { return errNotUTF8.Error() }

// yamlError is an error of the YAML library with the line counted from the start of the file.
func (d *yamlDocument) yamlError(err error, item, line int) error {
	if invalid := invalidLine(0); errors.As(err, &invalid) {
		return d.b.errorAt(d.place(item, line+int(invalid)), "", &fieldError{err: errNotUTF8})
	}
	if odd := (*notFinite)(nil); errors.As(err, &odd) {
		path := odd.path
		if item > 0 {
			path = strings.TrimPrefix(path, "[0].") // an item is read as a list of one
		}
		return d.b.errorAt(d.place(item, line+odd.line), "", &fieldError{path: path, value: odd.value, err: errNotFinite})
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "yaml: "), "unmarshal errors: ")
	if after, ok := strings.CutPrefix(text, "line "); ok {
		if number, message, ok := strings.Cut(after, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, text = line+n-1, message
			}
		}
	}
	if strings.Contains(text, "unknown anchor") && item > 0 {
		text += "; an anchor of one item can't be used in another"
	}
	return d.b.errorAt(d.place(item, line), "", &fieldError{err: fmt.Errorf("not YAML: %s", text)})
}
