// Package serve is the HTTPS endpoint of the long-lived programs: /healthz for everybody, /metrics for whoever may read it,
// and the metrics themselves.
//
// Who may read /metrics is up to the cluster: a TokenReview tells who sends the bearer token, and a SubjectAccessReview whether
// they may "get" the non-resource URL "/metrics". The service account needs the verb create on
// tokenreviews.authentication.k8s.io and subjectaccessreviews.authorization.k8s.io for that, and nothing else.
package serve
