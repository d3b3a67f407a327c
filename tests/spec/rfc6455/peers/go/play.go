package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/gorilla/websocket"
)

type step struct {
	Do     string  `json:"do"`
	Kind   string  `json:"kind"`
	Data   []byte  `json:"data"`
	Ping   *[]byte `json:"ping"` // Sent between the first fragments.
	Event  string  `json:"event"`
	Code   int     `json:"code"`
	Reason string  `json:"reason"`
}

type event struct {
	Event  string `json:"event"`
	Data   []byte `json:"data"`
	Code   int    `json:"code"`
	Reason string `json:"reason"`
	Fault  string `json:"fault,omitempty"`
	Count  int    `json:"count"`
}

func deadline() time.Time { return time.Now().Add(10 * time.Second) }

// What the other end did, in its order; a close is the last.
func watch(connection *websocket.Conn) <-chan event {
	events := make(chan event, 10_000)
	answerPing := connection.PingHandler()
	connection.SetPingHandler(func(data string) error {
		events <- event{Event: "ping", Data: []byte(data)}
		return answerPing(data)
	})
	connection.SetPongHandler(func(data string) error {
		events <- event{Event: "pong", Data: []byte(data)}
		return nil
	})
	go func() {
		for {
			kind, data, err := connection.ReadMessage()
			if err != nil {
				events <- closing(err)
				return
			}
			name := map[int]string{websocket.TextMessage: "text", websocket.BinaryMessage: "binary"}[kind]
			events <- event{Event: name, Data: data}
		}
	}()
	return events
}

func closing(err error) event {
	var closed *websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
		return event{Event: "close", Code: closed.Code, Reason: closed.Text}
	}
	return event{Event: "close", Code: websocket.CloseAbnormalClosure, Fault: err.Error()}
}

// The next one; with `name` what precedes it is passed over.
func next(events <-chan event, name string) event {
	for {
		got := <-events
		if name == "" || got.Event == name || got.Event == "close" {
			return got
		}
	}
}

// In one frame, or in frames of `cut` bytes with a ping after the first: a
// frame goes out when there is more than its buffer holds.
func send(connection *websocket.Conn, s step, cut int) {
	kind := map[string]int{"text": websocket.TextMessage, "binary": websocket.BinaryMessage}[s.Kind]
	writer, err := connection.NextWriter(kind)
	must(err)
	for at := 0; at < len(s.Data); at += cut {
		_, err = writer.Write(s.Data[at:min(at+cut, len(s.Data))])
		must(err)
		if at == cut && s.Ping != nil {
			ping(connection, *s.Ping)
		}
	}
	must(writer.Close())
}

func ping(connection *websocket.Conn, data []byte) {
	must(connection.WriteControl(websocket.PingMessage, data, deadline()))
}

func echo(connection *websocket.Conn, events <-chan event, cut int) event {
	for count := 0; ; count++ {
		got := next(events, "")
		if got.Event == "close" {
			got.Count = count
			return got
		}
		send(connection, step{Kind: got.Event, Data: got.Data}, cut)
	}
}

func play(connection *websocket.Conn, s script) []event {
	defer connection.Close()
	events := watch(connection)
	seen := []event{}
	for _, step := range s.Steps {
		switch step.Do {
		case "send":
			send(connection, step, s.frameBytes())
		case "ping":
			ping(connection, step.Data)
		case "close":
			if step.Code == 0 {
				step.Code = websocket.CloseNoStatusReceived // Makes a frame without a code.
			}
			message := websocket.FormatCloseMessage(step.Code, step.Reason)
			must(connection.WriteControl(websocket.CloseMessage, message, deadline()))
		case "next":
			seen = append(seen, next(events, step.Event))
		case "echo":
			seen = append(seen, echo(connection, events, s.frameBytes()))
		default:
			must(fmt.Errorf("no step is named %s", step.Do))
		}
	}
	if s.Role == "client" && len(seen) > 0 && seen[len(seen)-1].Event == "close" {
		seen[len(seen)-1].Fault += leftOpen(connection.NetConn())
	}
	return seen
}

// After the close frames the server ends the connection (section 7.1.1).
func leftOpen(socket net.Conn) string {
	must(socket.SetReadDeadline(deadline()))
	if _, err := socket.Read(make([]byte, 1)); err != io.EOF {
		return fmt.Sprint("after the close frame: ", err)
	}
	return ""
}
