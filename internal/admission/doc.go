// Package admission is the bootstrap taint: a taint on new nodes that keeps ordinary pods away until the node's agent can
// pace their start. It knows the taint's words, how to put it on (the answer to an AdmissionReview) and how to take it
// away again (a JSON patch). Nothing here does I/O, so every answer can be tested from a file.
//
// The same answers come from three places: a MutatingAdmissionPolicy, [Taint.Review] in the webhook, and the edge worker in
// deploy/worker. The last two agree to the byte; the cases under testdata/reviews hold for both.
//
// Which nodes are tainted is chosen by the objectSelector of the policy or of the webhook configuration and not a second time
// here. Nodes of virtual kubelets are left out everywhere: no agent can run on them.
//
// # Rules
//
//   - only new nodes: the operation is CREATE and the object a Node. A kubelet that registers again gets "already exists", and
//     its object with the taint is thrown away.
//   - only spec.taints is touched, and a node that has a taint with the key, whatever its effect and value, is left alone.
//   - what can't be understood is refused with 4xx, which a webhook with failurePolicy Ignore passes over; a review that is
//     understood is always allowed. No answer keeps a node from registering.
//   - the effect is never NoExecute, which would evict the agent's own neighbours.
package admission
