// The echo tool on the Go SDK of the Model Context Protocol, over streamable
// HTTP: a peer to measure the tool service against.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type arguments struct {
	Text string `json:"text"`
}

func say(_ context.Context, _ *mcp.CallToolRequest, in arguments) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
}

// The tools of a file, a line each: name, description and names of arguments,
// parted by tabs.
func addAll(server *mcp.Server, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		parts := strings.Split(line, "\t")
		properties := map[string]any{}
		for _, one := range strings.FieldsFunc(parts[2], func(r rune) bool { return r == ',' }) {
			properties[one] = map[string]any{"type": "string", "description": "The " + strings.ReplaceAll(one, "_", " ") + "."}
		}
		schema := map[string]any{"type": "object", "properties": properties}
		server.AddTool(&mcp.Tool{Name: parts[0], Description: parts[1], InputSchema: schema},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "say", Description: "Answers its argument"}, say)
	if len(os.Args) > 2 {
		addAll(server, os.Args[2])
	}
	handler := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{JSONResponse: true})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], handler))
}
