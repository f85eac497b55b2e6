package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// desk is the MCP side of the help desk.
type desk struct {
	orders *orders
	ledger *ledger
	delay  time.Duration
}

type lookupArgs struct {
	OrderID string `json:"order_id" jsonschema:"the order's id, such as A-1001"`
}

type refundArgs struct {
	OrderID string `json:"order_id" jsonschema:"the order's id, such as A-1001"`
	Cents   int64  `json:"cents" jsonschema:"how much to pay back, in cents"`
	Reason  string `json:"reason" jsonschema:"why, for the customer to read"`
}

type noteArgs struct {
	OrderID string `json:"order_id" jsonschema:"the order's id, such as A-1001"`
	Note    string `json:"note" jsonschema:"what to note on the order"`
}

// handler serves the tools over streamable HTTP.
func (d *desk) handler() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "helpdesk", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: "Look an order up before you refund it.",
	})
	yes, no := true, false
	addTool(d, server, &mcp.Tool{
		Name: "lookup_order", Title: "Look up an order",
		Description: "Returns an order: what was bought, what was paid and refunded, and where it is.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}, func(ctx context.Context, args lookupArgs) (Order, string, error) {
		if err := d.wait(ctx); err != nil {
			return Order{}, "", err
		}
		order, err := d.orders.lookup(args.OrderID)
		return order, fmt.Sprintf("Order %s of %s: %s, %s. Paid %s, refunded %s.", order.ID, order.Customer,
			order.Item, order.Status, money(order.TotalCents), money(order.RefundedCents)), err
	})
	addTool(d, server, &mcp.Tool{
		Name: "refund_order", Title: "Refund an order",
		Description: "Pays money back to the customer. It cannot be undone, and every call pays again.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no},
	}, func(ctx context.Context, args refundArgs) (Order, string, error) {
		if err := d.wait(ctx); err != nil {
			return Order{}, "", err
		}
		order, err := d.orders.refund(args.OrderID, args.Cents, args.Reason)
		return order, fmt.Sprintf("Paid %s back for order %s.", money(args.Cents), order.ID), err
	})
	// Without annotations: nothing is known of what it does.
	addTool(d, server, &mcp.Tool{
		Name: "add_note", Title: "Add a note", Description: "Notes something on an order.",
	}, func(_ context.Context, args noteArgs) (Order, string, error) {
		order, err := d.orders.addNote(args.OrderID, args.Note)
		return order, fmt.Sprintf("Noted on order %s.", order.ID), err
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	return mux
}

// addTool registers a tool whose every invocation stands in the ledger, the refused ones included.
func addTool[Args any](d *desk, server *mcp.Server, tool *mcp.Tool, act func(context.Context, Args) (Order, string, error)) {
	mcp.AddTool(server, tool, func(ctx context.Context, r *mcp.CallToolRequest, args Args) (*mcp.CallToolResult, Order, error) {
		authorization := "none"
		if r.Extra != nil {
			authorization = fingerprint(r.Extra.Header.Get("Authorization"))
		}
		end, err := d.ledger.begin(tool.Name, r.Params.Arguments, authorization)
		if err != nil {
			return nil, Order{}, err
		}
		order, text, err := act(ctx, args)
		if ledgerErr := end(err); err == nil {
			err = ledgerErr
		}
		if err != nil {
			return nil, Order{}, err // the SDK makes it a result with isError
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, order, nil
	})
}

// wait stands for slow work, so that a test can stop a caller in the middle of it.
func (d *desk) wait(ctx context.Context) error {
	if d.delay <= 0 {
		return nil
	}
	select {
	case <-time.After(d.delay):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("given up by the client: %w", ctx.Err())
	}
}

func money(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
