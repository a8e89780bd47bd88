// Package backstop takes the bootstrap taint away from nodes whose agent has not done so within a grace time, so that a broken
// agent never strands a node. It says so in an Event on the node and touches no other taint.
//
// The grace time runs from the node's creation, or, for a node that gets the taint later, from when that is seen. A backstop
// that starts anew has not seen when a node older than the grace time got its taint, and gives it the whole time again.
package backstop
