// Package archtest holds no code, only tests: the import rules of
// docs/ARCHITECTURE.md, the rules on what source may say, and the hygiene of
// the repository. Each failure prints the reason for the rule it broke.
//
// If a rule stands in the way of the simplest correct design, change the rule
// in the same change and say why in a decision record under docs/adr.
package archtest
