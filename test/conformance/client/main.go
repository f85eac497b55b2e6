// SPDX-License-Identifier: Apache-2.0

// Client is the client that the MCP conformance suite tests: internal/mcp, driven the way each scenario
// wants it. The suite appends the server's URL to the command and names the scenario in the environment.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/schema"
)

const timeout = 20 * time.Second // the suite gives a client thirty seconds

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: client URL, with MCP_CONFORMANCE_SCENARIO in the environment")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Getenv("MCP_CONFORMANCE_CONTEXT")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// driver is one server that a scenario is played with.
type driver struct {
	client    *mcp.Client
	target    mcp.Target
	catalogue mcp.Catalogue
}

func run(ctx context.Context, url, scenario, extra string) error {
	d := &driver{
		client: mcp.NewClient(mcp.Options{HTTPTransport: &http.Transport{}, Version: "conformance"}),
		target: mcp.Target{Namespace: "conformance", Server: "conformance/" + scenario, URL: url},
	}
	defer d.client.Close()
	var err error
	if d.catalogue, err = d.client.Discover(ctx, d.target); err != nil {
		return err
	}
	for _, finding := range d.catalogue.Findings {
		fmt.Fprintln(os.Stderr, "finding:", finding)
	}
	return d.play(ctx, scenario, extra)
}

// play does what the scenario looks at; for those that look at the handshake and the list alone, nothing.
func (d *driver) play(ctx context.Context, scenario, extra string) error {
	switch scenario {
	case "tools_call":
		return d.call(ctx, "add_numbers", json.RawMessage(`{"a": 5, "b": 3}`))
	case "json-schema-ref-no-deref":
		return d.compile()
	case "json-schema-2020-12-preservation":
		return d.echo(ctx)
	case "http-custom-headers":
		return d.callAsTold(ctx, extra)
	default:
		return d.callAll(ctx)
	}
}

func (d *driver) call(ctx context.Context, tool string, arguments json.RawMessage) error {
	result, err := d.client.Call(ctx, d.target, tool, arguments, mcp.CallOptions{})
	if err == nil && result.IsError {
		return fmt.Errorf("tool %s: it says that it failed: %+v", tool, result.Content)
	}
	return err
}

// callAll calls every tool that was found usable. One that fails keeps no other from being called.
func (d *driver) callAll(ctx context.Context) error {
	var failures []error
	for _, tool := range d.catalogue.Tools {
		if tool.Unusable != "" {
			fmt.Fprintf(os.Stderr, "tool %s is not called: %s\n", tool.Name, tool.Unusable)
			continue
		}
		failures = append(failures, d.call(ctx, tool.Name, json.RawMessage(`{"region": "us-west1"}`)))
	}
	return errors.Join(failures...)
}

// callAsTold makes the calls that the suite asks for.
func (d *driver) callAsTold(ctx context.Context, extra string) error {
	var told struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal([]byte(extra), &told); err != nil {
		return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	var failures []error
	for _, call := range told.ToolCalls {
		failures = append(failures, d.call(ctx, call.Name, call.Arguments))
	}
	return errors.Join(failures...)
}

// compile reads the schemas as the operator does before it lets anybody call a tool. A schema that cannot
// be used is no failure here: the suite looks at whether anything is fetched.
func (d *driver) compile() error {
	for _, tool := range d.catalogue.Tools {
		if _, err := schema.Compile(tool.InputSchema); err != nil {
			fmt.Fprintln(os.Stderr, "tool "+tool.Name+":", err)
		}
	}
	return nil
}

// echo sends a schema back as it was understood.
func (d *driver) echo(ctx context.Context) error {
	for _, tool := range d.catalogue.Tools {
		if tool.Name == "json_schema_2020_12_tool" {
			return d.call(ctx, "json_schema_echo", append(append(json.RawMessage(`{"schema":`), tool.InputSchema...), '}'))
		}
	}
	return errors.New("the server does not offer json_schema_2020_12_tool")
}
