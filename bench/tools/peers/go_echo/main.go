// The echo tool on the Go SDK of the Model Context Protocol, over streamable
// HTTP: a peer to measure the tool service against.
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type arguments struct {
	Text string `json:"text"`
}

func say(_ context.Context, _ *mcp.CallToolRequest, in arguments) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "say", Description: "Answers its argument"}, say)
	handler := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{JSONResponse: true})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], handler))
}
