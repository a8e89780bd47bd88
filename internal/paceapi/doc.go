// Package paceapi is the conversation between the CNI executable and the node
// agent: one connection per pod start, one JSON object per line, each with the
// protocol version and a type.
//
//	executable                           agent
//	request ───────────────────────────►
//	         ◄───────────────── waiting    at once, then at least every KeepAlive
//	         ◄─────────────────── grant    or refuse, which ends the conversation
//	ack ───────────────────────────────►   only now does the grant count
//	(the original plugin runs)
//	done ──────────────────────────────►   duration and exit code
//
// Hanging up is the cancel: the executable is killed when the kubelet gives up
// on a pod, and the system closes its connection. Hanging up between ack and
// done means that the executable died and, with it, the plugin.
//
// When the agent dies the executable dials again until it finds the next one
// and opens with a new request that says how long it has waited, or for how
// long the original has been running (Request.Running). To a running one the
// agent answers nothing and expects done.
//
// The agent answers every request within FirstAnswer and then speaks at least
// every KeepAlive, with an unchanged waiting line if nothing is new. An
// executable that heard nothing for FirstAnswer, or for Silence after that,
// takes the agent for hung and treats it as absent.
//
// A ping line gets a pong with the agent's version and ends the conversation.
//
// Lines are at most MaxLine bytes with their newline. Unknown fields are
// ignored, so fields may be added without a new version; Version changes when an
// old reader would misunderstand. A line that cannot be understood is answered
// by an error line, which ends the conversation.
package paceapi
