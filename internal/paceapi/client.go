package paceapi

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrRefusedLine is wrapped by Next and Ping when the agent could not
// understand what we sent, or we what it sent: it is of another version. It
// will be no other in the next moment, so there is no hurry to dial again.
var ErrRefusedLine = errors.New("the agent and this executable do not understand each other")

// Client is the executable's side of one conversation. Next may run in one
// goroutine while the others are called from another. Sending never waits: all
// that a conversation says fits into the buffer of a connection, read or not.
type Client struct{ lines Lines }

// NewClient takes over conn. The conversation begins with Request or Ping.
func NewClient(conn Conn) *Client { return &Client{Lines{Conn: conn}} }

// Request opens the conversation.
func (c *Client) Request(r Request) error {
	return c.lines.Send(Message{Type: TypeRequest, Request: r})
}

// Ack tells the agent that its grant arrived and is about to be used.
func (c *Client) Ack() error { return c.lines.Send(Message{Type: TypeAck}) }

// Done reports the end of the original. The agent reads it even when the
// connection is closed right after.
func (c *Client) Done(d Done) error {
	return c.lines.Send(Message{Type: TypeDone, Done: d})
}

// Next gives the agent's next line: waiting, grant or refuse. An error means
// that this conversation is over, and wraps os.ErrDeadlineExceeded when nothing
// came until then; a zero deadline is none.
func (c *Client) Next(deadline time.Time) (Message, error) {
	if err := c.lines.SetReadDeadline(deadline); err != nil {
		return Message{}, err
	}
	m, err := c.receive()
	if err != nil {
		return Message{}, err
	}
	switch m.Type {
	case TypeWaiting, TypeGrant, TypeRefuse:
		return m, nil
	default:
		return Message{}, fmt.Errorf("%w: unexpected %s line", ErrRefusedLine, m.Type)
	}
}

// receive reads one line. Its errors wrap ErrHungUp, os.ErrDeadlineExceeded, or
// ErrRefusedLine for every line that two sides of one version would not exchange.
func (c *Client) receive() (Message, error) {
	m, err := c.lines.Receive()
	switch {
	case errors.Is(err, ErrHungUp), errors.Is(err, os.ErrDeadlineExceeded):
		return Message{}, err
	case err != nil:
		return Message{}, fmt.Errorf("%w: %w", ErrRefusedLine, err)
	case m.Type == TypeError:
		return Message{}, fmt.Errorf("%w: %s", ErrRefusedLine, m.Reason)
	}
	return m, nil
}

// Ping asks whether the agent is there and gives the agent's version.
func (c *Client) Ping(deadline time.Time) (string, error) {
	if err := c.lines.Send(Message{Type: TypePing}); err != nil {
		return "", err
	}
	if err := c.lines.SetReadDeadline(deadline); err != nil {
		return "", err
	}
	m, err := c.receive()
	switch {
	case err != nil:
		return "", err
	case m.Type != TypePong:
		return "", fmt.Errorf("%w: unexpected %s line: expected pong", ErrRefusedLine, m.Type)
	}
	return m.Agent, nil
}

// Close hangs up: before Done, that cancels.
func (c *Client) Close() error { return c.lines.Close() }
