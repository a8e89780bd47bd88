// Package evict carries out plans: it asks the API server to evict, one pod after the other, and tells what came of it.
//
// It decides nothing. Every move of a plan is asked for once, in the plan's order, with the UID the plan was made for, so
// a pod that was replaced in the meantime is never evicted by mistake. What the API server answers is an outcome: a budget in the way
// (429) or a pod that is gone (404) are not errors. A missing permission is: nothing further is asked for then.
//
// The pace is that of the client that is handed in (client-go's QPS and burst).
package evict
