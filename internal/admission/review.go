package admission

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MaxBody is the longest body that is looked at, in bytes: the API server's own limit for a request.
const MaxBody = 3 << 20

// Answer is the HTTP response to a request.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
	// Node is the name of the node that gets the taint, for the log; "" when none does, or it has no name yet.
	Node string
	// Tainted says that the answer holds a patch.
	Tainted bool
}

// Review answers one HTTP request. The caller reads at most MaxBody+1 bytes of the body.
func (t Taint) Review(method, contentType string, body []byte) Answer {
	if method != http.MethodPost {
		return refuse(http.StatusMethodNotAllowed, "send an AdmissionReview with POST")
	}
	if media, _, _ := strings.Cut(contentType, ";"); !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		return refuse(http.StatusUnsupportedMediaType, "the content type must be application/json")
	}
	if len(body) > MaxBody {
		return refuse(http.StatusRequestEntityTooLarge, "the body is longer than 3 MiB")
	}
	request := decode(body)
	if request == nil {
		return refuse(http.StatusBadRequest, "the body is not an AdmissionReview of admission.k8s.io/v1 with a request")
	}
	uid, _ := request["uid"].(string)
	if !validUID(uid) {
		return refuse(http.StatusBadRequest, "the request has no uid of 1 to 128 letters, digits and hyphens")
	}
	return t.allow(uid, request)
}

func (t Taint) allow(uid string, request map[string]any) Answer {
	response := &admissionv1.AdmissionResponse{UID: types.UID(uid), Allowed: true}
	answer := Answer{Status: http.StatusOK, ContentType: "application/json"}
	if isNewNode(request) {
		node := field(request, "object")
		if patch := t.patchFor(node); patch != nil {
			kind := admissionv1.PatchTypeJSONPatch
			response.Patch, response.PatchType = patch, &kind
			answer.Tainted = true
			answer.Node, _ = field(node, "metadata")["name"].(string)
		}
	}
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: response,
	}
	var err error
	if answer.Body, err = json.Marshal(review); err != nil {
		return refuse(http.StatusInternalServerError, "the answer could not be encoded")
	}
	return answer
}

func refuse(status int, why string) Answer {
	return Answer{Status: status, ContentType: "text/plain; charset=utf-8", Body: []byte(why + "\n")}
}

// decode returns the request of an AdmissionReview; nil when the body is none.
//
// It decodes into maps and not into Go types: those would refuse a whole review for a field of a newer API, and they take field
// names in any case, which the API server does not.
func decode(body []byte) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var review map[string]any
	if err := decoder.Decode(&review); err != nil {
		return nil
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil
	}
	if review["kind"] != "AdmissionReview" || review["apiVersion"] != admissionv1.SchemeGroupVersion.String() {
		return nil
	}
	return field(review, "request")
}

func validUID(uid string) bool {
	const allowed = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-"
	return uid != "" && len(uid) <= 128 && strings.Trim(uid, allowed) == ""
}

func isNewNode(request map[string]any) bool {
	kind := field(request, "kind")
	sub := request["subResource"]
	return request["operation"] == "CREATE" && (sub == nil || sub == "") &&
		kind["group"] == "" && kind["version"] == "v1" && kind["kind"] == "Node"
}

// patchFor returns nil for a node that is to be left alone, also because it can't be understood.
func (t Taint) patchFor(node map[string]any) []byte {
	if node == nil || field(field(node, "metadata"), "labels")["type"] == "virtual-kubelet" {
		return nil
	}
	if node["spec"] == nil {
		return t.addPatch(false, false)
	}
	spec := field(node, "spec")
	if spec == nil {
		return nil
	}
	if spec["taints"] == nil {
		return t.addPatch(true, false)
	}
	taints, ok := spec["taints"].([]any)
	if !ok {
		return nil
	}
	for _, taint := range taints {
		taint, _ := taint.(map[string]any)
		if key := taint["key"]; key == t.Key || key == "virtual-kubelet.io/provider" {
			return nil
		}
	}
	return t.addPatch(true, true)
}

// field returns the object in a field; nil when there is none.
func field(object map[string]any, name string) map[string]any {
	value, _ := object[name].(map[string]any)
	return value
}
