// Package herd starts a herd of pods on this very machine, once unpaced and
// once paced, and measures what the node would feel.
//
// # What is real
//
// Every pod is a process that burns a fixed amount of CPU work, says that it is
// ready, and stays. The plugin is a process in a plugin folder. In the paced run
// the node agent runs in a process of its own; it installs the stand-in over the
// plugin, tests it, and is asked over its real socket by one stand-in process for
// each ADD. It learns of the pods from files that change as pods progress. The
// heartbeat is, at every beat, one more process with a fixed amount of work. All
// of them are this program, started again with a job in its environment (see
// Process), so that nothing else has to be built or installed: the stand-in runs
// package cni and the agent package agent, as the commands evenkeel-cni and
// evenkeel-agent do.
//
// # What is modelled
//
// The kubelet and the container runtime (type kubelet): all ADDs are called at
// once; a failed one is followed by DEL and repeated after a pause of Retry to
// 1.5 × Retry, which is what a kubelet does; a container that its startup probe
// gives up on is killed and started anew, at once, then after Retry, 2 × Retry, 4 × Retry, at most
// five minutes. No images are pulled and no sandboxes made. The plugin waits half of
// its time and works in the other half.
//
// # What is measured
//
// Times are from the moment at which all pods may start. A pod is starting from
// the start of its plugin until it is ready. The delay of a heartbeat is counted
// from when it was due, so a beat that had to wait for the one before counts that
// too. Percentiles are by nearest rank. Both runs draw the same random numbers.
//
// Other work on the machine slows both runs, but not equally: ratios mean most on
// a quiet machine.
package herd
