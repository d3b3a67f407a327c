// One end of a WebSocket, made by github.com/gorilla/websocket. Each line of
// the input is a script in JSON. Two lines answer it: how the connection was
// opened (or the port, for a server), then what the steps that wait have seen.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/gorilla/websocket"
)

// One frame holds the largest message of the tests, where it is not to be cut.
const wholeMessage = 2 << 20

type script struct {
	Role         string   `json:"role"`
	URL          string   `json:"url"`
	Subprotocols []string `json:"subprotocols"`
	Insist       string   `json:"insist"` // Chosen although it was not offered.
	Cut          int      `json:"cut"`    // Bytes in a frame; 0: the whole message.
	Steps        []step   `json:"steps"`
}

func (s script) frameBytes() int {
	if s.Cut > 0 {
		return s.Cut
	}
	return wholeMessage
}

type opening struct {
	Port    int `json:"port,omitempty"`
	Refused int `json:"refused,omitempty"`
}

type result struct {
	Subprotocol string  `json:"subprotocol"`
	Extensions  string  `json:"extensions"`
	Seen        []event `json:"seen,omitempty"`
}

func answer(value any) {
	line, err := json.Marshal(value)
	must(err)
	fmt.Println(string(line))
}

// A peer that cannot do its part ends, and so the test that waits for it.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "websocket_peer:", err)
		os.Exit(1)
	}
}

func runClient(s script) result {
	dialer := websocket.Dialer{
		Subprotocols: s.Subprotocols, WriteBufferSize: s.frameBytes(), EnableCompression: true}
	connection, response, err := dialer.Dial(s.URL, nil)
	if err == websocket.ErrBadHandshake {
		answer(opening{Refused: response.StatusCode})
		return result{}
	}
	must(err)
	answer(opening{})
	return result{connection.Subprotocol(), response.Header.Get("Sec-WebSocket-Extensions"), play(connection, s)}
}

func runServer(s script) result {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	upgrader := websocket.Upgrader{
		Subprotocols: s.Subprotocols, WriteBufferSize: s.frameBytes(), EnableCompression: true}
	header := http.Header{}
	if s.Insist != "" {
		upgrader.Subprotocols = nil
		header.Set("Sec-WebSocket-Protocol", s.Insist)
	}
	played := make(chan result, 1)
	go http.Serve(listener, http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		connection, err := upgrader.Upgrade(out, in, header)
		must(err)
		played <- result{connection.Subprotocol(), in.Header.Get("Sec-WebSocket-Extensions"), play(connection, s)}
	}))
	answer(opening{Port: listener.Addr().(*net.TCPAddr).Port})
	defer listener.Close()
	return <-played
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var s script
		must(json.Unmarshal(lines.Bytes(), &s))
		if s.Role == "server" {
			answer(runServer(s))
		} else {
			answer(runClient(s))
		}
	}
	must(lines.Err())
}
