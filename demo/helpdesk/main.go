// Helpdesk is a small MCP server for the demo and the end-to-end tests: it looks up orders, refunds them and
// takes notes. Its ledger, one line when a tool begins and one when it ends, proves what was called and how
// often.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// settings are the command line.
type settings struct {
	listen    string
	ledger    string
	addrFile  string
	tokenFile string
	delay     time.Duration
}

func parseFlags(args []string, output io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("helpdesk", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&s.listen, "listen", "127.0.0.1:0", "`address` to serve MCP on")
	flags.StringVar(&s.ledger, "ledger", "", "`file` to append one JSON line to when a tool begins and when it ends")
	flags.StringVar(&s.addrFile, "addr-file", "", "`file` to write the endpoint's URL to once it is served")
	flags.StringVar(&s.tokenFile, "token-file", "", "`file` with the bearer token that requests must carry; read for every request")
	flags.DurationVar(&s.delay, "delay", 0, "how long lookup_order and refund_order take before they act")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("helpdesk: unexpected argument %q", flags.Arg(0))
	}
	return s, nil
}

func main() {
	s, err := parseFlags(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = serve(ctx, s, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve runs the server until ctx ends, and tells out where it is.
func serve(ctx context.Context, s settings, out io.Writer) error {
	book, err := openLedger(s.ledger)
	if err != nil {
		return fmt.Errorf("helpdesk: %w", err)
	}
	defer book.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("helpdesk: %w", err)
	}
	desk := &desk{orders: newOrders(), ledger: book, delay: s.delay}
	server := &http.Server{
		Handler:           requireToken(s.tokenFile, desk.handler()),
		ReadHeaderTimeout: 10 * time.Second,
	}
	url := "http://" + listener.Addr().String() + "/mcp"
	if s.addrFile != "" {
		if err := writeAtomically(s.addrFile, url); err != nil {
			listener.Close()
			return fmt.Errorf("helpdesk: %w", err)
		}
	}
	fmt.Fprintln(out, "helpdesk serves MCP at "+url)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("helpdesk: %w", err)
	case <-ctx.Done():
		return server.Close() // clients keep streams open for as long as they live
	}
}

// writeAtomically lets a reader see the whole content or no file.
func writeAtomically(file, content string) error {
	temp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // does nothing once it is renamed
	if _, err := temp.WriteString(content); err != nil {
		temp.Close()
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}
