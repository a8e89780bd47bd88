package snapfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// quantity is a resource quantity as it was written. It is parsed when an object is converted: there the path of the field is known,
// and each of the few ways to write one that a cluster has is parsed only once.
type quantity string

// quantities is a resource list as it was written.
type quantities map[corev1.ResourceName]quantity

// measurements is a resource list of what was measured; nil: of that resource nothing was. Elsewhere the API takes a null for 0.
type measurements map[corev1.ResourceName]*quantity

func (m measurements) measured() quantities {
	known := make(quantities, len(m))
	for name, q := range m {
		if q != nil {
			known[name] = *q
		}
	}
	return known
}

// UnmarshalJSON takes strings, numbers, and null for 0, as the API does.
func (q *quantity) UnmarshalJSON(data []byte) error {
	switch {
	case bytes.Equal(data, []byte("null")):
		*q = "0"
		return nil
	case len(data) > 1 && data[0] == '"':
		if bytes.IndexByte(data, '\\') >= 0 {
			return json.Unmarshal(data, (*string)(q))
		}
		*q = quantity(data[1 : len(data)-1])
		return nil
	case len(data) > 0 && strings.IndexByte("-0123456789", data[0]) >= 0:
		*q = quantity(data)
		return nil
	}
	return errors.New("neither a string nor a number")
}

// MarshalJSON writes a string, as the API does.
func (q quantity) MarshalJSON() ([]byte, error) { return json.Marshal(string(q)) }

// What a quantity may be written as. Parsing takes time and memory that grow with the exponent, so that is looked at first.
const (
	maxQuantityLength = 64
	maxExponentDigits = 2
)

// parser parses quantities and remembers them.
type parser struct {
	known     map[quantity]resource.Quantity
	resources *cluster.Resources
}

var (
	errQuantity = errors.New("expected a quantity such as 500m or 1Gi")
	errNegative = errors.New("expected a quantity that is not negative")
	errTooLarge = errors.New("expected a quantity below 2^63 (cpu: below 2^63 thousandths)")
)

func (p *parser) parse(name corev1.ResourceName, q quantity) (resource.Quantity, error) {
	v, ok := p.known[q]
	if !ok {
		var err error
		if v, err = parseQuantity(q); err != nil {
			return resource.Quantity{}, err
		}
		p.known[q] = v
	}
	if limit := largest(name); v.Cmp(limit) > 0 {
		return resource.Quantity{}, errTooLarge
	}
	return v, nil
}

// largest is the most of a resource that an amount can hold.
func largest(name corev1.ResourceName) resource.Quantity {
	if name == corev1.ResourceCPU {
		return *resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI)
	}
	return *resource.NewQuantity(math.MaxInt64, resource.DecimalSI)
}

func parseQuantity(q quantity) (resource.Quantity, error) {
	if len(q) > maxQuantityLength {
		return resource.Quantity{}, errQuantity
	}
	if i := strings.LastIndexAny(string(q), "eE"); i >= 0 && len(strings.TrimLeft(string(q[i+1:]), "+-0")) > maxExponentDigits {
		return resource.Quantity{}, errQuantity
	}
	v, err := resource.ParseQuantity(string(q))
	switch {
	case err != nil:
		return resource.Quantity{}, errQuantity
	case v.Sign() < 0:
		return resource.Quantity{}, errNegative
	}
	return v, nil
}

// list converts a resource list. The error's path starts with the resource's name.
func (p *parser) list(in quantities) (corev1.ResourceList, *fieldError) {
	if len(in) == 0 {
		return nil, nil
	}
	p.number(in)
	out := make(corev1.ResourceList, len(in))
	for name, q := range in {
		v, err := p.parse(name, q)
		if err != nil {
			return nil, p.firstError(in)
		}
		out[name] = v
	}
	return out, nil
}

// number gives resources that are new their numbers in order of name, so that the numbers depend on the files alone.
func (p *parser) number(in quantities) {
	var found []corev1.ResourceName
	for name := range in {
		if _, known := p.resources.Lookup(name); !known {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	for _, name := range found {
		p.resources.ID(name)
	}
}

// firstError is the error of the first resource, by name, that has one: maps have no order of their own.
func (p *parser) firstError(in quantities) *fieldError {
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if _, err := p.parse(name, in[name]); err != nil {
			return &fieldError{path: key(string(name)), value: fmt.Sprintf("%q", string(in[name])), err: err}
		}
	}
	return nil
}
