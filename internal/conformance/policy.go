package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/strategy"
)

// policyCase is one recorded case about reading policies.
type policyCase struct {
	Name           string          `json:"name"`
	Kind           string          `json:"kind"`
	Plugin         string          `json:"plugin"`
	Args           json.RawMessage `json:"args"`
	PolicyYAML     string          `json:"policyYAML"`
	PolicyDocument json.RawMessage `json:"policyDocument"`
	Expected       struct {
		Valid  bool            `json:"valid"`
		Error  string          `json:"error"`
		Args   json.RawMessage `json:"args"`
		Policy json.RawMessage `json:"policy"`
	} `json:"expected"`
}

// RunPolicyCase runs one case of the kinds validateArgs, defaultArgs,
// decodePolicy and validatePolicy. It returns nil if the outcome means the same
// as the recorded one: valid or not, and the defaulted values. The wording of
// errors is not compared.
func RunPolicyCase(data []byte) error {
	var c policyCase
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("reading the case: %w", err)
	}
	switch c.Kind {
	case "validateArgs":
		return c.validateArgs()
	case "defaultArgs":
		return c.defaultArgs()
	case "decodePolicy":
		return c.decode([]byte(c.PolicyYAML))
	case "validatePolicy":
		return c.decode(c.PolicyDocument)
	default:
		return fmt.Errorf("%s: unknown kind of case %q", c.Name, c.Kind)
	}
}

// pluginArgs decodes the arguments of the case, which null leaves empty.
func (c *policyCase) pluginArgs() (strategy.Args, error) {
	var args strategy.Args
	if c.Plugin == policy.EvictorName {
		args = &policy.EvictorArgs{}
	} else {
		p, ok := strategy.LookupPlugin(c.Plugin)
		if !ok {
			return nil, fmt.Errorf("there is no plugin %q", c.Plugin)
		}
		args = p.NewArgs()
	}
	if len(c.Args) == 0 {
		return args, nil
	}
	d := json.NewDecoder(bytes.NewReader(c.Args))
	d.DisallowUnknownFields()
	if err := d.Decode(args); err != nil {
		return nil, fmt.Errorf("decoding the arguments: %w", err)
	}
	return args, nil
}

func (c *policyCase) validateArgs() error {
	args, err := c.pluginArgs()
	if err != nil {
		return err
	}
	return c.sameVerdict(args.Validate(field.NewPath("args")).ToAggregate())
}

func (c *policyCase) defaultArgs() error {
	args, err := c.pluginArgs()
	if err != nil {
		return err
	}
	args.SetDefaults()
	got, err := json.Marshal(args)
	if err != nil {
		return err
	}
	return sameJSON(c.Expected.Args, got)
}

func (c *policyCase) decode(text []byte) error {
	doc, _, err := policy.Decode("case", text)
	if differ := c.sameVerdict(err); differ != nil || err != nil || len(c.Expected.Policy) == 0 {
		return differ
	}
	got, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return sameJSON(c.Expected.Policy, got)
}

func (c *policyCase) sameVerdict(err error) error {
	switch {
	case c.Expected.Valid && err != nil:
		return fmt.Errorf("expected valid, got: %w", err)
	case !c.Expected.Valid && err == nil:
		return errors.New("expected the error " + c.Expected.Error + ", got none")
	}
	return nil
}

// sameJSON compares two values, taking empty and absent as the same.
func sameJSON(want, got []byte) error {
	var w, g any
	if err := errors.Join(json.Unmarshal(want, &w), json.Unmarshal(got, &g)); err != nil {
		return err
	}
	if diff := cmp.Diff(prune(w), prune(g)); diff != "" {
		return fmt.Errorf("values differ (-expected +got):\n%s", diff)
	}
	return nil
}

// prune removes what is empty and gives the one key that has two spellings the
// one that files have.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, value := range v {
			if key == "preEvictionFilter" {
				key = "preevictionfilter"
			}
			if value = prune(value); value != nil {
				kept[key] = value
			}
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case []any:
		var kept []any
		for _, item := range v {
			kept = append(kept, prune(item))
		}
		if len(kept) > 0 {
			return kept
		}
		return nil
	case string:
		if v == "" {
			return nil
		}
	}
	return v
}
