// Command app stands for a program that takes a while to start: it burns CPU
// time, then waits, and answers 503 on /ready until that is done.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	burn := flag.Duration("burn", 0, "CPU time to burn before being ready")
	delay := flag.Duration("delay", 0, "time to wait before being ready, after that")
	fail := flag.Bool("fail", false, "exit with code 1 instead of becoming ready")
	address := flag.String("listen", ":8080", "where to listen")
	flag.Parse()

	var ready atomic.Bool
	go func() {
		burnCPU(*burn)
		time.Sleep(*delay)
		if *fail {
			os.Exit(1)
		}
		ready.Store(true)
		fmt.Println("ready")
	}()
	http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
		}
	})
	go func() {
		fmt.Fprintln(os.Stderr, http.ListenAndServe(*address, nil))
		os.Exit(1)
	}()
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)
	<-told
}

func burnCPU(total time.Duration) {
	x := uint64(1)
	for used() < total {
		for range 1_000_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	_ = x
}

// used is the CPU time of this process so far.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
