package cluster

// Starts is what the agent of a node says about the pods that start there: a NodePace.
type Starts struct {
	Limit    int // how many may be starting at once, at least 1
	Starting int
	Waiting  int // for one of those that are starting to be up
}
