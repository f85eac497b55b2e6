package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The test binary doubles as the stdio server that the tests run. What it does is told by its arguments,
// since its environment belongs to the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "stdio-child" {
		runChild(os.Args[2])
		return
	}
	if len(os.Args) > 3 && os.Args[1] == "serve-bridge" {
		serveAlone(os.Args[2], os.Args[3])
		return
	}
	os.Exit(m.Run())
}

// helper is the command that runs the test binary as a child of the given kind.
func helper(t *testing.T, kind string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, "stdio-child", kind}
}

const (
	// Spaces, order, unknown members and a missing third state: what a proxy that decodes would lose.
	oddTools = `{"jsonrpc":"2.0",  "x-extra":[1.0, 9007199254740993], "id":%s,"result":{"tools":[{"zeta":null,"name":"t","annotations":{"readOnlyHint":"yes","x":{}},"inputSchema":{"type":"object"}}], "\u0041":"<&>"}}`
	oddError = `{"id":%s,"error":{"message":"no \u2028 way","code":-32099,"data":{"n":1.50}},"jsonrpc":"2.0"}`
)

// runChild is a stdio server without an SDK.
func runChild(kind string) {
	switch kind {
	case "banner":
		fmt.Println("Welcome to the server!\n\n{\"level\":\"info\"}")
	case "chatter":
		for i := range 1000 {
			fmt.Println("line", i)
		}
	case "garbage":
		fmt.Println("cannot start with key " + os.Getenv("API_KEY"))
		os.Exit(3)
	case "mute":
		fmt.Println("thinking")
	case "discover-dies":
	case "cannot-start":
		fmt.Fprintln(os.Stderr, "first line\nno key like "+os.Getenv("API_KEY")+" is known")
		os.Exit(4)
	case "stderr":
		fmt.Fprintln(os.Stderr, "short\n"+strings.Repeat("x", 3*MaxStderrLine)+"\nafter")
	case "deaf": // reads nothing and ignores that its input ended
		select {}
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, MaxRequestBytes+1)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
				RequestID json.RawMessage `json:"requestId"`
				Meta      struct {
					Token json.RawMessage `json:"progressToken"`
				} `json:"_meta"`
			} `json:"params"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			os.Exit(9)
		}
		heard[m.Method]++
		switch m.Method {
		case "notifications/cancelled":
			cancelled = append(cancelled, string(m.Params.RequestID))
		case "initialize":
			if kind == "refuses" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"not you"}}`+"\n", m.ID)
			} else if kind != "mute" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"child","version":"1"}}}`+"\n", m.ID)
			}
		case "server/discover":
			os.Exit(1)
		case "tools/list":
			fmt.Printf(oddTools+"\n", m.ID)
		case "tools/call":
			callChild(m.Params.Name, m.ID, m.Params.Arguments, m.Params.Meta.Token)
		case "": // the answer to what the child asked
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`+"\n", asked, string(m.Result)+string(m.Error))
		}
	}
}

var (
	asked     json.RawMessage // the call that waits for the client's answer
	heard     = map[string]int{}
	cancelled []string
	held      []json.RawMessage // calls that are answered when another says so
)

func callChild(tool string, id, arguments, token json.RawMessage) {
	text := ""
	switch tool {
	case "echo":
		text = string(arguments)
	case "id":
		text = string(id)
	case "heard":
		data, _ := json.Marshal(heard)
		text = string(data)
	case "cancelled":
		text = strings.Join(cancelled, " ")
	case "hold":
		held = append(held, id)
		return
	case "waiting":
		text = fmt.Sprint(len(held))
	case "release": // the newest first, and itself last
		for _, id := range slices.Backward(held) {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"held as %s"}]}}`+"\n", id, id)
		}
		held = nil
	case "progress":
		fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,  "progressToken":%s}}`+"\n", token)
		text = string(token)
	case "tell": // what a shared process may and may not tell
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"of another client"}}`)
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	case "ping":
		asked = id
		fmt.Println(`{"jsonrpc":"2.0","id":"c-2","method":"ping"}`)
		return
	case "fail": // with a secret on standard error
		fmt.Fprintln(os.Stderr, "cannot go on with "+os.Getenv("API_KEY"))
		os.Exit(3)
	case "error":
		fmt.Printf(oddError+"\n", id)
		return
	case "env":
		data, _ := json.Marshal(os.Environ())
		text = string(data)
	case "pids":
		text = fmt.Sprint(os.Getpid(), " ", groupOf(os.Getpid()))
	case "spawn": // a process in the group that outlives its parent
		cmd := exec.Command("sh", "-c", "trap '' TERM; echo ready; exec sleep 600")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			text = err.Error()
			break
		}
		_, _ = bufio.NewReader(out).ReadString('\n')
		text = fmt.Sprint(cmd.Process.Pid)
	case "notify":
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`)
		text = "done"
	case "ask":
		asked = id
		fmt.Println(`{"jsonrpc":"2.0","id":"c-1","method":"roots/list"}`)
		return
	case "die":
		os.Exit(3)
	case "hang":
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`)
		return
	case "crlf":
		fmt.Printf("{\"jsonrpc\":\"2.0\",\r\"id\":%s,\"result\":{\"content\":[]}}\r\n", id)
		return
	}
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`+"\n", id, text)
}

// serveAlone is a bridge in a process of its own, that says where it listens in a file.
func serveAlone(file, kind string) {
	self, err := os.Executable()
	if err != nil {
		os.Exit(1)
	}
	err = Serve(context.Background(), Options{
		Command: []string{self, "stdio-child", kind},
		OnListen: func(a net.Addr) {
			_ = os.WriteFile(file+".tmp", []byte(a.String()), 0o600)
			_ = os.Rename(file+".tmp", file)
		},
	})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
