package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// shape holds a value that was read from a file against the Go type that it is
// to be decoded into. Decoders stop at the first mistake and know no paths; this
// finds all of them.
type shape struct {
	// unknown is told of a key that the type has no field for.
	unknown func(path *field.Path, key string, t reflect.Type)
	// wrong is told of a value that the type cannot hold.
	wrong func(path *field.Path, message string)
}

// check walks v and t together. A null fits every type.
func (s shape) check(path *field.Path, v any, t reflect.Type) {
	if v == nil || t == reflect.TypeFor[json.RawMessage]() {
		return
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		s.checkUnmarshaler(path, v, t)
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		s.check(path, v, t.Elem())
	case reflect.Struct:
		s.checkStruct(path, v, t)
	case reflect.Map:
		s.checkMap(path, v, t)
	case reflect.Slice:
		s.checkSlice(path, v, t)
	default:
		if !fitsScalar(v, t) {
			s.wrong(path, fmt.Sprintf("expected %s, got %s%s", expected(t), describe(v), scalarHint(v, t)))
		}
	}
}

// checkUnmarshaler lets types with a syntax of their own judge for themselves.
func (s shape) checkUnmarshaler(path *field.Path, v any, t reflect.Type) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, reflect.New(t).Interface())
	}
	if err != nil {
		s.wrong(path, fmt.Sprintf("%s is not a valid value: %v", describe(v), err))
	}
}

func (s shape) checkStruct(path *field.Path, v any, t reflect.Type) {
	m, ok := v.(map[string]any)
	if !ok {
		s.wrong(path, "expected a mapping, got "+describe(v))
		return
	}
	fields := fieldsOf(t)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if f, ok := fields[key]; ok {
			s.check(path.Child(key), m[key], f.Type)
		} else {
			s.unknown(path.Child(key), key, t)
		}
	}
}

func (s shape) checkMap(path *field.Path, v any, t reflect.Type) {
	m, ok := v.(map[string]any)
	if !ok {
		s.wrong(path, "expected a mapping, got "+describe(v))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		s.check(path.Key(key), m[key], t.Elem())
	}
}

func (s shape) checkSlice(path *field.Path, v any, t reflect.Type) {
	list, ok := v.([]any)
	if !ok {
		s.wrong(path, fmt.Sprintf("expected a list, got %s", describe(v)))
		return
	}
	for i, item := range list {
		s.check(path.Index(i), item, t.Elem())
	}
}

// fieldsOf returns the fields of a struct type by their JSON names.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = f
		}
	}
	return fields
}

// fieldNames returns the JSON names of a struct type's fields, sorted.
func fieldNames(t reflect.Type) []string {
	return slices.Sorted(maps.Keys(fieldsOf(t)))
}

func fitsScalar(v any, t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool:
		_, ok := v.(bool)
		return ok
	case reflect.String:
		_, ok := v.(string)
		return ok
	}
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	var err error
	switch {
	case t.Kind() == reflect.Float64:
		_, err = n.Float64()
	case isUnsigned(t):
		_, err = strconv.ParseUint(n.String(), 10, t.Bits())
	default:
		_, err = strconv.ParseInt(n.String(), 10, t.Bits())
	}
	return err == nil
}

func isUnsigned(t reflect.Type) bool {
	return t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64
}

func expected(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return "a string"
	case t.Kind() == reflect.Float64:
		return "a number"
	case isUnsigned(t):
		return "a whole number, 0 or more"
	default:
		return "a whole number"
	}
}

// describe names a value in a message, shortened.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case string:
		const most = 40
		if len(v) > most {
			return fmt.Sprintf("%q…", strings.ToValidUTF8(v[:most], ""))
		}
		return strconv.Quote(v)
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}

// scalarHint adds the likely cure to a mistake about scalars.
func scalarHint(v any, t reflect.Type) string {
	switch v := v.(type) {
	case string:
		if _, err := strconv.ParseFloat(v, 64); err == nil && t.Kind() != reflect.Bool {
			return ": leave out the quotes"
		}
	case bool, json.Number:
		if t.Kind() == reflect.String {
			return ": put it in quotes"
		}
	case map[string]any:
		if name, ok := v["name"].(string); ok && t.Kind() == reflect.String {
			return fmt.Sprintf(": write just %q", name)
		}
	}
	return ""
}
