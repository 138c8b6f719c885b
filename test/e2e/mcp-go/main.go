// Drives `cadre mcp-server` with the MCP client of mark3labs/mcp-go, and prints what it has got as one JSON object.
// The arguments are the command of the server; MCP_ERA=legacy keeps to the protocol of before 2026-07-28.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// person answers every question with a yes.
type person struct {
	asked []string
}

func (p *person) Elicit(_ context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	p.asked = append(p.asked, request.Params.Message)
	content := map[string]any{"decision": "approve"}
	return &mcp.ElicitationResult{
		ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: content},
	}, nil
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	someone := &person{}
	options := []client.ClientOption{client.WithElicitationHandler(someone)}
	if os.Getenv("MCP_ERA") == "legacy" {
		options = append(options, client.WithLegacyProtocolOnly())
	}
	command := transport.NewStdio(os.Args[1], os.Environ(), os.Args[2:]...)
	c := client.NewClient(command, options...)
	must(c.Start(ctx))
	var mutex sync.Mutex
	progress := []string{}
	c.OnNotification(func(notification mcp.JSONRPCNotification) {
		if notification.Method != "notifications/progress" {
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		message, _ := notification.Params.AdditionalFields["message"].(string)
		progress = append(progress, message)
	})
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	request.Params.ClientInfo = mcp.Implementation{Name: "mcp-go", Version: "1.2.1"}
	initialized, err := c.Initialize(ctx, request)
	must(err)
	listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	must(err)
	names := []string{}
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}

	call := func(name string, arguments map[string]any) *mcp.CallToolResult {
		request := mcp.CallToolRequest{}
		request.Params.Name = name
		request.Params.Arguments = arguments
		request.Params.Meta = &mcp.Meta{ProgressToken: name}
		result, err := c.CallTool(ctx, request)
		must(err)
		return result
	}
	run := call("cadre_run", map[string]any{"task": "quick"})
	approved := call("cadre_run", map[string]any{"task": "asks", "approval_policy": "untrusted"})
	failed := call("cadre_status", map[string]any{"id": "a0000000000zz"})
	must(c.Close())

	mutex.Lock()
	defer mutex.Unlock()
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"protocol": initialized.ProtocolVersion,
		"tools":    names,
		"run":      run,
		"approved": approved,
		"asked":    someone.asked,
		"failed":   failed,
		"progress": progress,
	}))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
