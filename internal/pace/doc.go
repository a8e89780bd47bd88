/*
Package pace decides which pods of a node may start, and when.

It is the queue behind the start gate. A pod's network plugin is called through an executable of ours, which asks the
node's agent for leave; the agent asks the Queue. The Queue is a state machine. It has no clock, goroutine, lock, log or
I/O: each method takes the time and what happened, and returns what to do about it.

# Driving it

One goroutine owns a [Queue]. For every input it calls one method and obeys the [Output]: each [Grant] and [Refusal] is
sent on the connection that its attempt ID names, each [Event] goes to metrics, logs or the API. Then it sets one timer
to [Queue.Next], and calls [Queue.Tick] when that fires:

	out := q.Request(now, attempt)
	obey(out)
	if next := q.Next(now); !next.IsZero() {
		timer.Reset(next.Sub(now))
	}

A zero Next is an idle queue: no timer, no work. Ticking early is harmless; ticking late delays what was due.

# The life of an attempt

	Request ──► Grant ──► Ack ──► Done
	   │          │         │
	   │          │         └─► Cancel: the peer was killed; the pod keeps the slot for 30 s
	   │          └─► Cancel, or nothing for 10 s: the slot is taken back, the pod keeps its rank
	   ├─► Refusal: the pod keeps its rank for two minutes, in which the kubelet calls again
	   └─► Cancel: likewise

The caller makes up attempt IDs and never uses one twice; one connection is one attempt. It calls Cancel when a peer
hangs up, whether or not it still needs an answer. A refusal is final. So is the refusal "Unacknowledged", which takes
back a grant: the caller closes the connection, and an executable that runs its original all the same redials and is
taken in by [Queue.Resume].

# The life of a slot

Slots are keyed by pod UID. One begins with a grant for one of the reasons FreeSlot, Reserved and Urgent, or with Resume
or Seed, which say what is so. It ends exactly once, with the event Released, by the first of

  - [Queue.Release]: the pod's status says that it has started, or will not (package podstate judges that);
  - [Queue.Gone]: the pod was deleted;
  - Done with a failed plugin: the pod queues at the back, as if it had just come;
  - the peer's hanging up before it acknowledged, or 30 s after it did;
  - slotTimeout (5 min). This guarantees progress whatever plugins, pods and the API do.

While a pod holds a slot every further attempt of it passes at once: other networks, and new sandboxes.

# Who goes when

Urgent pods never wait but count; ungated pods neither wait nor count; a pod of unknown class waits two seconds for
[Queue.Classify] and is then ordinary. The turn of ordinary pods is by priority, then by arrival; a pod that has waited
the ageing period for each step of priority between them goes first all the same, and one that has waited maxWait goes
to the head (event HeldLong). Arrival is the pod's first attempt: coming back after a refusal changes nothing.

A free slot goes to the first pod that is present, because a refused pod is away for 10 to 18 seconds. A pod that was
passed over three times that way, and is due back, has the next free slot kept for it for up to 20 seconds. One whose
peer hung up without an answer is not due back: it was killed, or went on by a lock file while nobody answered.

Every limit must agree: the concurrency limit (fixed or adaptive), the rate and the pressure. Together they are never
below one pod at a time. A slot counts, whoever holds it, and so does a lock holder.

# No herd, ever

A deadline lets nobody through: an attempt that has waited as long as it may is refused, never granted. Refusals are
spread over the last seven tenths of the wait, the farthest from its turn first, because each refusal costs the runtime
a DEL and a sandbox; and there are never more than RefusalsPerSecond of them. If the cap could not be kept that way,
refusals begin earlier; only if more attempts have the same deadline than the cap allows in all the time up to it does
the gap shrink, because an answer in time comes first. Answers come a tenth of the wait, at most a second, before its
end. The refusals Overloaded, Superseded and Unacknowledged are immediate and not under the cap.

No grant is given when the runtime's deadline leaves less than the plugin needs in 99 of 100 cases, by its last 256
successful runs; but in the first eighth of the deadline it always leaves enough.

During [Queue.Maintenance] everybody but the pods with slots is refused, under the cap, and there are no turns; after
it the limits hold as before.

# After a restart

A new Queue gives no turns for five seconds, nor before Seed. Executables redial and say "waiting since" (Request with
Waited) or "running since" (Resume); the API's starting pods come by Seed; lock holders by LockHolders. What an executable
says outweighs what the API shows. If the API cannot be reached there is no Seed, and turns begin after fifteen seconds.

# Time

The Queue keeps its own clock, which is moved by the times it is given. It never runs backwards, and goes at most ten
seconds beyond an instant at which it should have been ticked. So after a clock was set, or the machine slept, waits and
slots go on where they were, instead of all ending at once. Durations in inputs are relative to the call, so no other
clock need agree with it. Times with a monotonic reading, as time.Now gives, are best.

# What is promised

For any inputs, in any order: no slot for an ordinary pod beyond the limit; every attempt answered once, within its wait
(if Tick is called as asked); every slot released once; no pod known twice; a queue without inputs comes to rest with
nothing left. Unknown attempts and pods are ignored. The tests check all this after each input.
*/
package pace
