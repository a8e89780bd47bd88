package policy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/pacepolicy"
)

// The objects of pod-pacemaker (github.com/woehrl01/pod-pacemaker) that ConvertPacemaker reads.
const (
	PacemakerAPIVersion = "woehrl.net/v1alpha"
	PacemakerKind       = "PacemakerConfig"
)

// IsPacemaker reports whether a file holds a PacemakerConfig, alone, among other documents or in a List.
func IsPacemaker(data []byte) bool {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if err != nil {
			return false
		}
		var object struct {
			metav1.TypeMeta `json:",inline"`
			Items           []metav1.TypeMeta `json:"items"`
		}
		_ = yaml.Unmarshal(document, &object) // what else is wrong with it, ConvertPacemaker says
		for _, o := range append(object.Items, object.TypeMeta) {
			if isPacemaker(o) {
				return true
			}
		}
	}
}

func isPacemaker(o metav1.TypeMeta) bool {
	return o.Kind == PacemakerKind && o.APIVersion == PacemakerAPIVersion
}

// pacemakerConfig is what pod-pacemaker's CRD declares. Numbers other than counts are text there.
type pacemakerConfig struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec json.RawMessage `json:"spec"`
}

type pacemakerSpec struct {
	NodeSelector map[string]string `json:"nodeSelector"`
	Priority     int32             `json:"priority"`
	Throttle     struct {
		RateLimit struct {
			Burst      int32  `json:"burst"`
			FillFactor string `json:"fillFactor"`
		} `json:"rateLimit"`
		MaxConcurrent struct {
			Value   int32  `json:"value"`
			PerCore string `json:"perCore"`
		} `json:"maxConcurrent"`
		CPU     pacemakerLoad `json:"cpu"`
		IO      pacemakerLoad `json:"io"`
		LoadAvg struct {
			pacemakerLoad
			PerCore bool `json:"perCore"`
		} `json:"loadAvg"`
	} `json:"throttleConfig"`
}

type pacemakerLoad struct {
	MaxLoad     string `json:"maxLoad"`
	IncrementBy string `json:"incrementBy"`
}

// ConvertPacemaker translates every PacemakerConfig of a file to a PacePolicy of the same name. The warnings say what
// was not carried over or acts differently. The error is an *Error.
func ConvertPacemaker(name string, data []byte) ([]v1alpha1.PacePolicy, []Warning, error) {
	objects, err := pacemakerObjects(data)
	if err != nil {
		return nil, nil, &Error{Name: name, Problems: []Problem{{Message: err.Error()}}}
	}
	c := &pacemakerConversion{}
	var policies []v1alpha1.PacePolicy
	for _, o := range objects {
		policies = append(policies, c.convert(o))
	}
	if len(c.problems) > 0 {
		return nil, c.warnings, &Error{Name: name, Problems: c.problems}
	}
	return policies, c.warnings, nil
}

// pacemakerObjects finds the objects in YAML documents and Lists.
func pacemakerObjects(data []byte) ([]pacemakerConfig, error) {
	var found []pacemakerConfig
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		var object struct {
			metav1.TypeMeta `json:",inline"`
			pacemakerConfig `json:",inline"`
			Items           []struct {
				metav1.TypeMeta `json:",inline"`
				pacemakerConfig `json:",inline"`
			} `json:"items"`
		}
		if err := yaml.Unmarshal(document, &object); err != nil {
			return nil, err
		}
		if isPacemaker(object.TypeMeta) {
			found = append(found, object.pacemakerConfig)
		}
		for _, item := range object.Items {
			if isPacemaker(item.TypeMeta) {
				found = append(found, item.pacemakerConfig)
			}
		}
	}
}

// pacemakerConversion collects what there is to say.
type pacemakerConversion struct {
	problems []Problem
	warnings []Warning
}

func (c *pacemakerConversion) problem(at *field.Path, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: at.String(), Message: fmt.Sprintf(format, args...)})
}

func (c *pacemakerConversion) warn(at *field.Path, format string, args ...any) {
	c.warnings = append(c.warnings, Warning{Path: at.String(), Message: fmt.Sprintf(format, args...)})
}

func (c *pacemakerConversion) convert(o pacemakerConfig) v1alpha1.PacePolicy {
	before := len(c.problems)
	at := field.NewPath(o.Metadata.Name)
	if o.Metadata.Name == "" {
		at = field.NewPath("(no name)")
		c.problem(at.Child("metadata", "name"), "a PacePolicy needs a name")
	}
	at = at.Child("spec")
	var old pacemakerSpec
	strict, err := kjson.UnmarshalStrict(o.Spec, &old)
	for _, err := range append(strict, err) {
		if err != nil {
			c.problem(at, "%v", err)
		}
	}
	p := v1alpha1.PacePolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "PacePolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: o.Metadata.Name},
		Spec:       v1alpha1.PacePolicySpec{Priority: old.Priority},
	}
	if len(old.NodeSelector) > 0 {
		p.Spec.NodeSelector = &v1alpha1.NodeSelector{MatchLabels: map[string]v1alpha1.LabelValue{}}
		for key, value := range old.NodeSelector {
			p.Spec.NodeSelector.MatchLabels[key] = v1alpha1.LabelValue(value)
		}
	}
	limits := c.limits(at.Child("throttleConfig"), old)
	p.Spec.Pace = &v1alpha1.Pace{Limits: &limits}
	if err := pacepolicy.Check(p.Spec); err != nil && len(c.problems) == before {
		c.problem(at, "the policy that comes of it is wrong: %v", err)
	}
	return p
}

func (c *pacemakerConversion) limits(at *field.Path, old pacemakerSpec) v1alpha1.Limits {
	l := v1alpha1.Limits{MaxConcurrent: old.Throttle.MaxConcurrent.Value}
	concurrent := at.Child("maxConcurrent")
	switch perCore := old.Throttle.MaxConcurrent.PerCore; {
	case l.MaxConcurrent != 0 && perCore != "":
		c.warn(concurrent.Child("perCore"), "not carried over: value goes before it")
	case perCore != "":
		l.PerCore = c.number(concurrent.Child("perCore"), perCore)
	case l.MaxConcurrent == 0:
		c.warn(concurrent, "was no limit; the new policy's is one start per core, at least 2, if it does not say another")
	}
	if rate := old.Throttle.RateLimit; rate.FillFactor != "" || rate.Burst != 0 {
		l.Rate = c.rate(at.Child("rateLimit"), rate.FillFactor, rate.Burst)
	}
	cpu := c.load(at.Child("cpu"), old.Throttle.CPU)
	diskIO := c.load(at.Child("io"), old.Throttle.IO)
	if cpu != 0 || diskIO != 0 {
		l.Pressure = &v1alpha1.Pressure{CPU: cpu, IO: diskIO}
	}
	if old.Throttle.LoadAvg.MaxLoad != "" {
		c.warn(at.Child("loadAvg"), "not carried over: the load average lags a minute behind; pace.limits.pressure.cpu is what to set")
	}
	return l
}

func (c *pacemakerConversion) rate(at *field.Path, fill string, burst int32) *v1alpha1.Rate {
	if fill == "" || burst == 0 {
		c.warn(at, "not carried over: it needs fillFactor and burst, and had no effect")
		return nil
	}
	every, err := time.ParseDuration(fill)
	if err != nil {
		c.problem(at.Child("fillFactor"), "%v", err)
		return nil
	}
	if every < time.Millisecond {
		c.warn(at.Child("fillFactor"), "%s is raised to 1ms", every)
		every = time.Millisecond
	}
	return &v1alpha1.Rate{Every: v1alpha1.Duration(every.String()), Burst: burst}
}

func (c *pacemakerConversion) load(at *field.Path, old pacemakerLoad) float64 {
	if old.MaxLoad == "" {
		return 0
	}
	load := c.number(at.Child("maxLoad"), old.MaxLoad)
	if load == 0 || load > 100 {
		c.warn(at.Child("maxLoad"), "not carried over: %s is no percentage that can be exceeded, from above 0 to 100", old.MaxLoad)
		return 0
	}
	c.warn(at.Child("maxLoad"), "above it one pod starts at a time, where it was none; figures are not measured alike, so check it under load")
	if old.IncrementBy != "" {
		c.warn(at.Child("incrementBy"), "not carried over: starting pods count by their slots")
	}
	return load
}

func (c *pacemakerConversion) number(at *field.Path, text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		c.problem(at, "%q: expected a number", text)
	}
	return n
}

// PacePoliciesYAML renders the policies as YAML documents.
func PacePoliciesYAML(policies []v1alpha1.PacePolicy) ([]byte, error) {
	var out bytes.Buffer
	for i := range policies {
		text, err := renderYAML(&policies[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}
