package harness

import (
	"fmt"
	"io"
	"net"
	"runtime"

	"golang.org/x/sys/unix"
)

// forward listens on an address inside the network of a process and connects
// each caller with another address outside, until the result is closed.
func forward(pid int, inside, outside string) (io.Closer, error) {
	listener, err := listenIn(pid, inside)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			caller, err := listener.Accept()
			if err != nil {
				return
			}
			go join(caller, outside)
		}
	}()
	return listener, nil
}

// listenIn makes the socket on a thread that has joined the network of the
// process. A socket stays in the network in which it was made.
func listenIn(pid int, address string) (net.Listener, error) {
	type result struct {
		listener net.Listener
		err      error
	}
	made := make(chan result)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			made <- result{err: err}
			return
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			made <- result{err: fmt.Errorf("joining the network of process %d: %w", pid, err)}
			return
		}
		listener, err := net.Listen("tcp", address)
		made <- result{listener, err}
	}()
	r := <-made
	return r.listener, r.err
}

// join copies in both directions until both are at their end.
func join(caller net.Conn, address string) {
	defer caller.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(server, caller)
		_ = server.(*net.TCPConn).CloseWrite()
		close(done)
	}()
	_, _ = io.Copy(caller, server)
	_ = caller.(*net.TCPConn).CloseWrite()
	<-done
}
