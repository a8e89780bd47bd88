package admission

import (
	"encoding/json"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// wireTaint fixes the order of the fields in a patch.
type wireTaint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// RemovePatch is the JSON patch that takes the taint away from a node with these taints, and false when there is none of it.
//
// Each removal comes after a test that its place in the list still holds the taint's key. When the list has changed meanwhile,
// the API server refuses the whole patch with reason Invalid (a failed test) or Conflict: get the node again and try anew.
// Other taints, and changes to them, are never touched.
func (t Taint) RemovePatch(taints []corev1.Taint) ([]byte, bool) {
	var patch []operation
	for i := len(taints) - 1; i >= 0; i-- { // from the end, so that places to come do not shift
		if t.Matches(taints[i]) {
			path := "/spec/taints/" + strconv.Itoa(i)
			patch = append(patch, operation{"test", path + "/key", t.Key}, operation{Op: "remove", Path: path})
		}
	}
	if len(patch) == 0 {
		return nil, false
	}
	return encode(patch), true
}

// addPatch is the JSON patch that adds the taint at the end of what is there.
func (t Taint) addPatch(hasSpec, hasTaints bool) []byte {
	taint := wireTaint{t.Key, t.Value, string(t.Effect)}
	switch {
	case hasTaints:
		return encode([]operation{{"add", "/spec/taints/-", taint}})
	case hasSpec:
		return encode([]operation{{"add", "/spec/taints", []wireTaint{taint}}})
	default:
		return encode([]operation{{"add", "/spec", map[string]any{"taints": []wireTaint{taint}}}})
	}
}

func encode(patch []operation) []byte {
	data, _ := json.Marshal(patch) // strings can always be encoded
	return data
}
