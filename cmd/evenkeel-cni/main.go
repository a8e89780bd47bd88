// Command evenkeel-cni stands in the place of a CNI plugin, asks the node agent
// when a pod may start, and runs the plugin. See package cni.
package main

import (
	"os"

	"evenkeel.dev/evenkeel/internal/cni"
)

func main() { os.Exit(cni.Run(cni.System())) }
