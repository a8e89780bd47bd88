package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// shape holds a value that was read from a file against the Go type that it is
// to be decoded into. Decoders stop at the first mistake and know no paths; this
// finds all of them.
type shape struct {
	// unknown is told of a key in parent that t has no field for.
	unknown func(path *field.Path, key string, parent map[string]any, t reflect.Type)
	// wrong is told of a value that the type cannot hold.
	wrong func(path *field.Path, message string)
}

// check walks v and t together and says whether v fits; a null fits every type.
// What does not fit is replaced by null inside v, so that the rest can be
// decoded.
func (s shape) check(path *field.Path, v any, t reflect.Type) bool {
	if v == nil || t == reflect.TypeFor[json.RawMessage]() {
		return true
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return s.checkUnmarshaler(path, v, t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.check(path, v, t.Elem())
	case reflect.Struct, reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			return s.misfit(path, "expected a mapping, got "+describe(v))
		}
		s.checkMapping(path, m, t)
	case reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			return s.misfit(path, "expected a list, got "+describe(v))
		}
		for i, item := range list {
			if !s.check(path.Index(i), item, t.Elem()) {
				list[i] = nil
			}
		}
	default:
		if !fitsScalar(v, t) {
			return s.misfit(path, fmt.Sprintf("expected %s%s, got %s%s", expected(t), rangeHint(v, t), describe(v), scalarHint(v, t)))
		}
	}
	return true
}

func (s shape) misfit(path *field.Path, message string) bool {
	s.wrong(path, message)
	return false
}

// checkUnmarshaler lets types with a syntax of their own judge for themselves.
func (s shape) checkUnmarshaler(path *field.Path, v any, t reflect.Type) bool {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, reflect.New(t).Interface())
	}
	switch {
	case err == nil:
		return true
	case t == reflect.TypeFor[metav1.Duration]():
		return s.misfit(path, fmt.Sprintf("expected a duration such as 5m, 36h or 1h30m (there are no days, and the most is 2562047h), got %s", describe(v)))
	default:
		return s.misfit(path, fmt.Sprintf("%s is not a valid value: %v", describe(v), err))
	}
}

func (s shape) checkMapping(path *field.Path, m map[string]any, t reflect.Type) {
	var fields map[string]reflect.StructField
	if t.Kind() == reflect.Struct {
		fields = fieldsOf(t)
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		at := path.Key(key)
		var elem reflect.Type
		if fields == nil {
			elem = t.Elem()
		} else {
			at = path.Child(key)
			f, ok := fields[key]
			if !ok {
				s.unknown(at, key, m, t)
				continue
			}
			elem = f.Type
		}
		if !s.check(at, m[key], elem) {
			m[key] = nil
		}
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

func isWhole(t reflect.Type) bool {
	return isUnsigned(t) || t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64
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

// rangeHint names the end of the range that a whole number is beyond.
func rangeHint(v any, t reflect.Type) string {
	n, _ := v.(json.Number)
	digits, negative := strings.CutPrefix(n.String(), "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" || !isWhole(t) {
		return ""
	}
	switch {
	case isUnsigned(t) && negative:
		return "" // 0 or more has been said
	case isUnsigned(t):
		return fmt.Sprintf(", at most %d", ^uint64(0)>>(64-t.Bits()))
	case negative:
		return fmt.Sprintf(", at least %d", int64(-1)<<(t.Bits()-1))
	default:
		return fmt.Sprintf(", at most %d", uint64(1)<<(t.Bits()-1)-1)
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
