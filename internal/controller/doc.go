// Package controller runs cycles: it takes a snapshot, has it planned, carries the plan out and tells what came of it,
// once or over and over, as the leader of several processes or alone.
//
// It decides nothing itself. What is evicted is decided in package engine, and how in package evict.
package controller
