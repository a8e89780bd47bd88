// Package live connects package pacepolicy to an API server: [Source] tells an agent which policy holds on its node, and
// [Reporter] writes the status of every policy.
package live
