package snapfile

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sjson "sigs.k8s.io/json"
)

// decode decodes one object the way Kubernetes does.
func decode[T any](raw []byte) (*T, *fieldError) {
	out := new(T)
	err := sjson.UnmarshalCaseSensitivePreserveInts(raw, out)
	if err == nil {
		return out, nil
	}
	if e := locate(raw, reflect.TypeFor[T]()); e != nil {
		return nil, e.trimmed()
	}
	return nil, &fieldError{err: err}
}

// locate finds the innermost value of raw that can't be decoded into t, by trying: errors of decoders rarely say where
// they come from. It returns nil when raw can be decoded.
func locate(raw []byte, t reflect.Type) *fieldError {
	err := sjson.UnmarshalCaseSensitivePreserveInts(raw, reflect.New(t).Interface())
	if err == nil {
		return nil
	}
	if ok, offset := sjson.SyntaxErrorOffset(err); ok {
		return &fieldError{err: fmt.Errorf("not JSON at byte %d of the item: %w", offset, err)}
	}
	if e := locateChild(raw, t); e != nil {
		return e
	}
	return &fieldError{value: shortened(string(raw)), err: errors.New("expected " + expected(t))}
}

func locateChild(raw []byte, t reflect.Type) *fieldError {
	if t.Kind() == reflect.Pointer {
		return locateChild(raw, t.Elem())
	}
	if decodesItself(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice:
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil
		}
		for i := range list {
			if e := locate(list[i], t.Elem()); e != nil {
				return e.under(index(i))
			}
		}
	case reflect.Map, reflect.Struct:
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if of, ok := typeOfField(t, name); ok {
				if e := locate(object[name], of); e != nil {
					return e.under(key(name))
				}
			}
		}
	}
	return nil
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// typeOfField is the type that the value under a key is decoded into.
func typeOfField(t reflect.Type, name string) (reflect.Type, bool) {
	if t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			if of, ok := typeOfField(f.Type, name); ok {
				return of, true
			}
		} else if tag == name {
			return f.Type, true
		}
	}
	return nil, false
}

// expected describes the JSON that decodes into t.
func expected(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[time.Time]():
		return "a time such as 2026-11-30T00:00:00Z"
	case reflect.TypeFor[quantity]():
		return "a quantity such as 500m or 1Gi"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return expected(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of at most %d bits", t.Bits())
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a value of another type"
}

// trimmed is the error with a path that starts with a name.
func (e *fieldError) trimmed() *fieldError {
	return &fieldError{path: strings.TrimPrefix(e.path, "."), value: e.value, err: e.err}
}
