package paceapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Conn is what a conversation needs of a connection. The errors of a read that
// lasted until its deadline say Timeout().
type Conn interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
}

// Lines reads and writes the lines of one connection. One goroutine may
// receive while others send.
type Lines struct {
	Conn
	buf []byte // read and not yet returned
}

// readLine gives the next line without its newline. The slice is valid until
// the next call. A connection that ends in the middle of a line gives
// io.ErrUnexpectedEOF.
func (c *Lines) readLine() ([]byte, error) {
	seen := 0
	for {
		if i := bytes.IndexByte(c.buf[seen:], '\n'); i >= 0 {
			line := c.buf[:seen+i]
			c.buf = c.buf[seen+i+1:]
			return line, nil
		}
		seen = len(c.buf)
		if seen >= MaxLine {
			return nil, ErrTooLong
		}
		if err := c.fill(); err != nil {
			if errors.Is(err, io.EOF) && seen > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// chunk is enough for any usual line, and is all that a waiting connection keeps.
const chunk = 512

// fill reads once more. The buffer is a fresh one when the old is full, since
// the last line handed out may still be in its front.
func (c *Lines) fill() error {
	if cap(c.buf)-len(c.buf) < chunk/2 {
		grown := make([]byte, len(c.buf), len(c.buf)+chunk)
		copy(grown, c.buf)
		c.buf = grown
	}
	n, err := c.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// ErrHungUp is wrapped by the errors of receiving from a peer that is gone.
var ErrHungUp = errors.New("the other side hung up")

// Receive reads and parses one line. Its errors wrap ErrHungUp,
// os.ErrDeadlineExceeded (pipes have a timeout of their own), or say what is
// wrong with the line.
func (c *Lines) Receive() (Message, error) {
	line, err := c.readLine()
	var timeout interface{ Timeout() bool }
	switch {
	case err == nil:
		return Parse(line)
	case errors.Is(err, ErrTooLong):
		return Message{}, err
	case errors.As(err, &timeout) && timeout.Timeout():
		return Message{}, os.ErrDeadlineExceeded
	default:
		return Message{}, fmt.Errorf("%w: %w", ErrHungUp, err)
	}
}

// Send writes one line, in one call.
func (c *Lines) Send(m Message) error {
	line, err := Format(m)
	if err != nil {
		return err
	}
	_, err = c.Write(line)
	return err
}
