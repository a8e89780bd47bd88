// Package nodepace reports what the agent of a node does in the node's NodePace object.
//
// [Next] makes the status from an observation and the status before; it is pure. [Publisher] writes it, at most once in
// [WriteEvery] and only on change. Times in the status are of when something began, so that nothing has to be written
// while it merely goes on.
package nodepace
