// Command client uses a router as an agent on the Go SDK does: client URL PREFIX. It prints what it saw.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const limit = 60 * time.Second

func main() {
	url, prefix := os.Args[1], os.Args[2]
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	steps := make(chan struct{}, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "tests", Version: "1.0.0"}, &mcp.ClientOptions{
		// With this handler Connect opens a subscription, and fails where that fails.
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) {},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { steps <- struct{}{} },
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	must(err)
	defer session.Close()

	tools := []string{}
	for tool, err := range session.Tools(ctx, nil) {
		must(err)
		tools = append(tools, tool.Name)
	}
	sum, err := session.CallTool(ctx, &mcp.CallToolParams{Name: prefix + "add", Arguments: map[string]any{"a": 2, "b": 3}})
	must(err)
	failing, err := session.CallTool(ctx, &mcp.CallToolParams{Name: prefix + "test_error_handling", Arguments: map[string]any{}})
	must(err)
	params := &mcp.CallToolParams{Name: prefix + "test_tool_with_progress", Arguments: map[string]any{}}
	params.SetProgressToken("go-1")
	_, err = session.CallTool(ctx, params)
	must(err)

	// Handlers run beside the call: the last step may be told after its answer.
	for range 3 {
		select {
		case <-steps:
		case <-ctx.Done():
			log.Fatal("fewer than three steps of progress")
		}
	}
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"era":     session.InitializeResult().ProtocolVersion,
		"tools":   tools,
		"sum":     sum.Content[0].(*mcp.TextContent).Text,
		"isError": failing.IsError,
		"steps":   3,
	}))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
