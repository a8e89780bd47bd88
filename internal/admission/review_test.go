package admission_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"evenkeel.dev/evenkeel/internal/admission"
)

var rewrite = flag.Bool("rewrite", false, "write the answers under testdata anew")

// reviewCase is a file under testdata/reviews. The worker's tests read them too.
type reviewCase struct {
	Why         string          `json:"why"`
	Method      string          `json:"method,omitempty"`      // default: POST
	ContentType *string         `json:"contentType,omitempty"` // default: application/json
	Taint       string          `json:"taint,omitempty"`
	Review      json.RawMessage `json:"review,omitempty"` // the body, or:
	Body        string          `json:"body,omitempty"`   // filled up with blanks to padTo bytes
	PadTo       int             `json:"padTo,omitempty"`
	Answer      caseAnswer      `json:"answer"`
	// Patch is what the answer holds in base64, for people who read the file.
	Patch json.RawMessage `json:"patch,omitempty"`
}

type caseAnswer struct {
	Status      int    `json:"status"`
	ContentType string `json:"contentType"`
	Body        string `json:"body"`
}

func (c reviewCase) answer(t *testing.T) admission.Answer {
	t.Helper()
	taint := admission.Default()
	if c.Taint != "" {
		if err := taint.Set(c.Taint); err != nil {
			t.Fatal(err)
		}
	}
	method, contentType := "POST", "application/json"
	if c.Method != "" {
		method = c.Method
	}
	if c.ContentType != nil {
		contentType = *c.ContentType
	}
	body := []byte(c.Review)
	if c.Review == nil {
		body = []byte(c.Body + strings.Repeat(" ", max(0, c.PadTo-len(c.Body))))
	}
	return taint.Review(method, contentType, body)
}

func TestReviewsAreAnsweredAsRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/reviews/*.json")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c reviewCase
			decoder := json.NewDecoder(bytes.NewReader(data))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&c); err != nil {
				t.Fatal(err)
			}
			got := c.answer(t)
			c.Answer = caseAnswer{got.Status, got.ContentType, string(got.Body)}
			c.Patch = patchOf(t, got)
			if *rewrite {
				write(t, file, c)
			}
			if diff := cmp.Diff(string(data), encode(t, c)); diff != "" && !*rewrite {
				t.Errorf("%s (-recorded +answered):\n%s", c.Why, diff)
			}
		})
	}
}

func patchOf(t testing.TB, answer admission.Answer) json.RawMessage {
	t.Helper()
	if !answer.Tainted {
		return nil
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer.Body, &review); err != nil {
		t.Fatal(err)
	}
	return review.Response.Patch
}

func encode(t *testing.T, c reviewCase) string {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(c); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func write(t *testing.T, file string, c reviewCase) {
	t.Helper()
	if err := os.WriteFile(file, []byte(encode(t, c)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// FuzzReview sends any body: the answer is a refusal, or allows, and then its patch adds our taint once and nothing else.
func FuzzReview(f *testing.F) {
	files, _ := filepath.Glob("testdata/reviews/*.json")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var c reviewCase
		if err := json.Unmarshal(data, &c); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(c.Review))
		f.Add([]byte(c.Body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		taint := admission.Default()
		answer := taint.Review("POST", "application/json", body)
		if answer.Status != 200 {
			if answer.Status < 400 || answer.Status > 499 || answer.Tainted {
				t.Fatalf("status %d, tainted %v", answer.Status, answer.Tainted)
			}
			return
		}
		var got admissionv1.AdmissionReview
		if err := json.Unmarshal(answer.Body, &got); err != nil || !got.Response.Allowed || got.Response.UID == "" {
			t.Fatalf("answer %s: %v", answer.Body, err)
		}
		if answer.Tainted {
			checkPatch(t, body, got.Response.Patch)
		}
	})
}

// checkPatch applies the patch to the node of the review and compares everything but the new taint.
func checkPatch(t *testing.T, body, patch []byte) {
	t.Helper()
	var review struct {
		Request struct{ Object json.RawMessage }
	}
	var exact map[string]any
	if json.Unmarshal(body, &exact) != nil || json.Unmarshal(body, &review) != nil {
		return // Go's own decoder takes fewer numbers
	}
	object := exact["request"].(map[string]any)["object"]
	before, _ := json.Marshal(object)
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatalf("patch %s: %v", patch, err)
	}
	after, err := decoded.Apply(before)
	if err != nil {
		t.Fatalf("patch %s of %s: %v", patch, before, err)
	}
	var node, tainted map[string]any
	_, _ = json.Unmarshal(before, &node), json.Unmarshal(after, &tainted)
	taints := cut(tainted)
	last, _ := taints[len(taints)-1].(map[string]any)
	if last["key"] != admission.DefaultKey || last["effect"] != "NoSchedule" {
		t.Fatalf("the last taint is %v", last)
	}
	if diff := cmp.Diff(cut(node), taints[:len(taints)-1]); diff != "" && len(taints) > 1 {
		t.Fatalf("other taints changed:\n%s", diff)
	}
	if diff := cmp.Diff(node, tainted); diff != "" {
		t.Fatalf("more than spec.taints changed:\n%s", diff)
	}
}

// cut takes spec.taints out of the node, and with it a spec that holds nothing else.
func cut(node map[string]any) []any {
	spec, _ := node["spec"].(map[string]any)
	taints, _ := spec["taints"].([]any)
	delete(spec, "taints")
	if len(spec) == 0 {
		delete(node, "spec")
	}
	return taints
}
