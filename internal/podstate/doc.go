/*
Package podstate judges pods by what the API says about them: how a pod is treated at the start gate ([Classify]), and
when a pod that was let through has started, or will not, so that its slot goes to the next ([Judge]).

It is pure: the pod and the time are arguments. The caller calls Judge whenever the pod changes and at Verdict.Recheck,
and passes what it says to pace.Queue's Release or Gone.

# Stale status

After a reboot the API shows for minutes what was before: Running, Ready, with yesterday's containers. None of that may
end a slot. So the caller makes a [Memory] at the grant, of what the API showed then, and only what is new counts:

  - a container with another ID than at the grant, unless it started before this boot;
  - a condition that has changed since the grant;
  - a waiting reason or restart count that differs from the one at the grant, or any once the pod has a new sandbox
    (condition PodReadyToStartContainers).

If the API showed nothing at the grant, because the pod was not in the cache or the agent has restarted since
([Recover]), IDs cannot be compared; then times decide, and what carries no time does not count. What is never judged
new ends by the queue's slotTimeout.

# The rules

In this order; the first that applies decides.

	deleted, or replaced by a pod of another UID      gone
	phase Succeeded or Failed (evicted too)           gone
	Ready, and something probes it                    release: Ready
	image cannot be pulled                            release: Parked
	crash loop, config, create or run errors, a
	container that failed, two restarts               release: Failed
	every container and sidecar has started
	    and startedWhen is Ready and a probe says so  hold (until Ready)
	    and a startup probe vouches for each          release: Started
	    for settle                                    release: Started
	init container runs                               hold up to initTimeout, then release: SlowInit
	container is being created                        hold up to pullTimeout after the sandbox, then release: Parked
	anything else                                     hold

A container without a startup probe is "started" as soon as its process runs, which says nothing about the work of
starting; that is what settle is for.
*/
package podstate
