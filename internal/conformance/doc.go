// Package conformance runs recorded cases of the Kubernetes descheduler against this implementation: a
// cluster, a configuration, and what the descheduler did with them. The cases are data that is kept elsewhere; the format is that of
// their README. It is a development tool, not part of any program.
package conformance
