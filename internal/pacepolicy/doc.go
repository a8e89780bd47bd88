// Package pacepolicy decides which PacePolicy holds on a node and what comes of it together with the agent's file.
//
// Of the policies whose selectors match a node's labels the one with the highest priority holds, of equal ones the first
// by name: see [Choose]. What the policy leaves out is as in the agent's file, and limits go as a whole: see [Merge].
// What an operator should know of each policy over all nodes is in [Survey].
//
// The package is pure: package pacepolicy/live watches the API and calls it.
package pacepolicy
