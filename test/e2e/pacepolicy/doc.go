// Package pacepolicy holds only tests, of PacePolicy and NodePace against a real API server, with the real kubectl and
// the real agent: what is refused and with which words, that a change reaches the agents and keeps who waits, and what
// agents report.
package pacepolicy
