// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/controllers"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/mcp/mcptest"
)

// startCatalogue reconciles the MCPServers of a namespace of the test's own, until the test ends.
func startCatalogue(t *testing.T) (namespace string) {
	t.Helper()
	namespace = env.Namespace(t)
	cfg := rest.CopyConfig(env.Config)
	cfg.QPS, cfg.UserAgent = -1, operatorAgent
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)}, // each test has a controller of this name
	})
	if err != nil {
		t.Fatal(err)
	}
	reconciler := &controllers.MCPServerReconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Now: time.Now, Catalogue: controllers.NewCatalogue(mcptest.Client(t)),
		Credentials: credentials.New(credentials.Options{Reader: mgr.GetAPIReader()}),
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return namespace
}

// catalogued creates an MCPServer for a URL. Its interval is so long that only what it says has it asked again.
func catalogued(t *testing.T, namespace, url string, options ...func(*v1alpha1.MCPServerSpec)) *v1alpha1.MCPServer {
	t.Helper()
	server := &v1alpha1.MCPServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "desk"},
		Spec: v1alpha1.MCPServerSpec{
			Transport: v1alpha1.Transport{HTTP: &v1alpha1.HTTPTransport{URL: url}}, RefreshInterval: metav1.Duration{Duration: 24 * time.Hour},
		},
	}
	for _, option := range options {
		option(&server.Spec)
	}
	if err := admin.Create(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	return server
}

// awaitServer waits until the MCPServer is as the check wants it.
func awaitServer(t *testing.T, server *v1alpha1.MCPServer, check func() error) {
	t.Helper()
	await(t, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(server), server); err != nil {
			return err
		}
		return check()
	})
}

// awaitReason waits for the reason of Ready.
func awaitReason(t *testing.T, server *v1alpha1.MCPServer, reason string) *metav1.Condition {
	t.Helper()
	var ready *metav1.Condition
	awaitServer(t, server, func() error {
		if ready = meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Reason != reason {
			return fmt.Errorf("Ready is %+v, want %s", ready, reason)
		}
		return nil
	})
	return ready
}

// told are the Events of a server, by reason and the tool that they are about, once there are so many.
func told(t *testing.T, server *v1alpha1.MCPServer, want int) []string {
	t.Helper()
	var said []string
	await(t, func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := admin.List(ctx, list, client.InNamespace(server.Namespace)); err != nil {
			return err
		}
		said = nil
		for _, event := range list.Items {
			if event.Regarding.Name != server.Name || event.Regarding.UID != server.UID || event.Series != nil {
				return fmt.Errorf("an Event of something else, or of several: %+v", event)
			}
			said = append(said, event.Type+" "+event.Reason+" "+event.Regarding.FieldPath)
		}
		if len(said) != want {
			return fmt.Errorf("%d Events, want %d: %q", len(said), want, said)
		}
		return nil
	})
	slices.Sort(said)
	return said
}

func changed(tool string, change v1alpha1.ToolChange) func(v1alpha1.CatalogueChange) bool {
	return func(c v1alpha1.CatalogueChange) bool { return c.Tool == tool && c.Change == change }
}

// When a server says that its tools have changed, the MCPServer shows which, from what digest to what, and an
// Event tells it; the first discovery tells nothing. A server that only says so makes no write.
func TestChangedDefinitionsAreShown(t *testing.T) {
	mcpServer := mcptest.NewServer(t)
	mcpServer.Offer("find", "finds")
	mcpServer.Offer("wipe", "wipes")
	server := catalogued(t, startCatalogue(t), mcpServer.URL)
	awaitReason(t, server, v1alpha1.ReasonDiscovered)
	if len(server.Status.Changes) > 0 || len(server.Status.Tools) != 2 {
		t.Fatalf("the first discovery shows %+v", server.Status)
	}
	old := server.Status.Tools[0].DefinitionDigest
	awaitStreams(t, mcpServer, 1)
	told(t, server, 0)

	mcpServer.Offer("find", "finds, and does much else")
	mcpServer.Offer("grep", "finds")
	mcpServer.Withdraw("wipe")
	awaitServer(t, server, func() error {
		for _, want := range []func(v1alpha1.CatalogueChange) bool{
			changed("find", v1alpha1.ToolChanged), changed("grep", v1alpha1.ToolAdded), changed("wipe", v1alpha1.ToolRemoved),
		} {
			if !slices.ContainsFunc(server.Status.Changes, want) {
				return fmt.Errorf("the changes are %+v", server.Status.Changes)
			}
		}
		return nil
	})
	find := server.Status.Changes[slices.IndexFunc(server.Status.Changes, changed("find", v1alpha1.ToolChanged))]
	if *find.OldDigest != old || *find.NewDigest != server.Status.Tools[0].DefinitionDigest || *find.OldDigest == *find.NewDigest {
		t.Errorf("find was %s, and is shown as %+v", old, find)
	}
	want := []string{
		"Normal ToolAdded status.tools{grep}", "Normal ToolRemoved status.tools{wipe}", "Warning ToolChanged status.tools{find}",
	}
	if diff := cmp.Diff(want, told(t, server, 3)); diff != "" {
		t.Errorf("the Events (-want +got):\n%s", diff)
	}

	since, asked := mark(t), mcpServer.Lists()
	mcpServer.Offer("grep", "finds")
	await(t, func(context.Context) error {
		if mcpServer.Lists() == asked {
			return errors.New("the server is not asked again")
		}
		return nil
	})
	mcpServer.Offer("last", "so that all before it was reconciled")
	awaitServer(t, server, func() error {
		if *server.Status.ToolCount != 3 {
			return fmt.Errorf("%d tools", *server.Status.ToolCount)
		}
		return nil
	})
	told(t, server, 4)
	var writes []string
	for _, write := range operatorWrites(t, since, server.Namespace) {
		writes = append(writes, write.Verb+" "+write.Resource+"/"+write.Subresource)
	}
	if diff := cmp.Diff([]string{"create events/", "update mcpservers/status"}, sorted(writes)); diff != "" {
		t.Errorf("writes, of which one discovery found nothing new (-want +got):\n%s", diff)
	}
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

func awaitStreams(t *testing.T, mcpServer *mcptest.Server, want int64) {
	t.Helper()
	await(t, func(context.Context) error {
		if streams := mcpServer.Streams(); streams != want {
			return fmt.Errorf("%d listen, want %d", streams, want)
		}
		return nil
	})
}

// A server is listened to once, whatever is written to its MCPServer, and not at all when that is gone.
func TestListeningEndsWithTheServer(t *testing.T) {
	mcpServer := mcptest.NewServer(t)
	mcpServer.Offer("find", "finds")
	server := catalogued(t, startCatalogue(t), mcpServer.URL)
	awaitStreams(t, mcpServer, 1)
	for i, trust := range []v1alpha1.AnnotationTrust{v1alpha1.AnnotationsTrusted, v1alpha1.AnnotationsUntrusted} {
		patch := client.MergeFrom(server.DeepCopy())
		server.Spec.Annotations = trust
		server.Spec.Transport.HTTP.Headers = map[string]v1alpha1.HeaderValue{"X-Try": v1alpha1.HeaderValue(fmt.Sprint(i))}
		if err := admin.Patch(t.Context(), server, patch); err != nil {
			t.Fatal(err)
		}
		awaitServer(t, server, func() error {
			if server.Status.ObservedGeneration != server.Generation {
				return errors.New("the new spec was not looked at")
			}
			return nil
		})
		awaitStreams(t, mcpServer, 1)
	}
	if err := admin.Delete(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	awaitStreams(t, mcpServer, 0)
}

// handwritten serves answers to methods of MCP, each the "result" or "error" member; a method without one is
// not known. Every request is answered for itself: there are no sessions unless answer makes them.
func handwritten(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, method string) string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(body, &m) != nil || len(m.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		text := answer(w, r, m.Method)
		switch {
		case text == "" && m.Method == "initialize":
			text = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"desk","version":"1"}}`
		case text == "":
			text = `"error":{"code":-32601,"message":"Method not found"}`
		}
		if text != "answered" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, text)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// What a server says of its tools and prompts is shown as far as it makes sense: tags, why a tool is unusable,
// the class by the trust in it, and prompts (M11, M12). Malformed _meta costs no tool its place, but itself.
func TestCatalogueOfAHandwrittenServer(t *testing.T) {
	url := handwritten(t, func(_ http.ResponseWriter, _ *http.Request, method string) string {
		switch method {
		case "tools/list":
			return `"result":{"tools":[
				{"name":"tagged","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},
					"_meta":{"com.opscogs.octools/tags":["recommended","network",7]}},
				{"name":"mistagged","inputSchema":{"type":"object"},"_meta":{"com.opscogs.octools/tags":"recommended"}},
				{"name":"unmeta","inputSchema":{"type":"object"},"_meta":null},
				{"name":"schemaless"},
				{"name":"misschemed","inputSchema":{"type":"nothing"}}]}`
		case "prompts/list":
			return `"result":{"prompts":[{"name":"greet","title":"Greet somebody"},{"name":"bye"}]}`
		default:
			return ""
		}
	})
	namespace := startCatalogue(t)
	server := catalogued(t, namespace, url, func(spec *v1alpha1.MCPServerSpec) { spec.Annotations = v1alpha1.AnnotationsTrusted })
	awaitReason(t, server, v1alpha1.ReasonDiscovered)
	type tool struct {
		class    v1alpha1.ToolClass
		tags     string
		unusable bool
	}
	got := map[string]tool{}
	for _, t := range server.Status.Tools {
		got[t.Name] = tool{t.Class, strings.Join(t.Tags, ","), t.Unusable != ""}
	}
	want := map[string]tool{
		"tagged":     {v1alpha1.ClassReadOnly, "recommended,network", false},
		"mistagged":  {v1alpha1.ClassWrite, "", false},
		"unmeta":     {v1alpha1.ClassWrite, "", false},
		"schemaless": {v1alpha1.ClassWrite, "", true},
		"misschemed": {v1alpha1.ClassWrite, "", true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tool{})); diff != "" {
		t.Errorf("the tools (-want +got):\n%s", diff)
	}
	var prompts []string
	for _, prompt := range server.Status.Prompts {
		prompts = append(prompts, prompt.Name+" "+prompt.Title)
		if len(prompt.Digest) != len("sha256:")+64 {
			t.Errorf("prompt %s has the digest %q", prompt.Name, prompt.Digest)
		}
	}
	if diff := cmp.Diff([]string{"bye ", "greet Greet somebody"}, prompts); diff != "" {
		t.Errorf("the prompts (-want +got):\n%s", diff)
	}

	patch := client.MergeFrom(server.DeepCopy())
	server.Spec.Annotations = v1alpha1.AnnotationsUntrusted
	if err := admin.Patch(t.Context(), server, patch); err != nil {
		t.Fatal(err)
	}
	awaitServer(t, server, func() error {
		i := slices.IndexFunc(server.Status.Tools, func(tool v1alpha1.CataloguedTool) bool { return tool.Name == "tagged" })
		if class := server.Status.Tools[i].Class; class != v1alpha1.ClassDestructive {
			return fmt.Errorf("a hint of a server that is not trusted makes its tool %s", class)
		}
		return nil
	})
	if len(server.Status.Changes) > 0 {
		t.Errorf("trust is no change of a definition: %+v", server.Status.Changes)
	}
}

// P39: a server that forgets each session at once shows as unavailable, with what helps, and is asked again.
func TestServerThatForgetsItsSessions(t *testing.T) {
	url := handwritten(t, func(w http.ResponseWriter, _ *http.Request, method string) string {
		switch method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "forgotten")
			return ""
		case "tools/list":
			http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, http.StatusNotFound)
			return "answered"
		default:
			return ""
		}
	})
	server := catalogued(t, startCatalogue(t), url)
	ready := awaitReason(t, server, v1alpha1.ReasonServerUnavailable)
	if ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, "lost again right after it was initialised anew") {
		t.Errorf("Ready is %+v", ready)
	}
	if meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReconciling) == nil {
		t.Errorf("it is not asked again: %+v", server.Status.Conditions)
	}
}

// Two thousand tools are discovered, shown and stored: as servers name them, and at every bound at once.
func TestTwoThousandTools(t *testing.T) {
	for _, row := range []struct {
		name string
		tool string // with a verb for the number
	}{
		{"ordinary", `{"name":"resource_operation_%04d","title":"Change a resource","description":"Changes an ordinary resource of a service.",
			"inputSchema":{"type":"object","properties":{"id":{"type":"string","minLength":1},"count":{"type":"integer","minimum":1,"maximum":100}},
			"required":["id"],"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}}`},
		{"at the bounds", `{"name":"` + strings.Repeat("n", mcp.MaxToolName-4) + `%04d","title":"` + strings.Repeat("t", mcp.MaxTitle) + `",
			"inputSchema":{"type":"` + strings.Repeat("x", 1024) + `"},
			"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false},
			"_meta":{"com.opscogs.octools/tags":["` + strings.Repeat("y", 64) + `","recommended"]}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			tools := make([]string, mcp.MaxTools)
			for i := range tools {
				tools[i] = fmt.Sprintf(row.tool, i)
			}
			list := `"result":{"tools":[` + strings.Join(tools, ",") + `]}`
			url := handwritten(t, func(_ http.ResponseWriter, _ *http.Request, method string) string {
				if method == "tools/list" {
					return list
				}
				return ""
			})
			namespace, began := startCatalogue(t), time.Now()
			server := catalogued(t, namespace, url)
			awaitReason(t, server, v1alpha1.ReasonDiscovered)
			text, err := json.Marshal(server)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("discovered and stored in %s: %d bytes, of them %d of managed fields", time.Since(began).Round(time.Millisecond),
				len(text), managedBytes(t, server))
			if len(server.Status.Tools) != mcp.MaxTools || len(text) > 3<<19-256<<10 {
				t.Errorf("%d tools in %d bytes", len(server.Status.Tools), len(text))
			}
		})
	}
}

func managedBytes(t *testing.T, object client.Object) int {
	t.Helper()
	text, err := json.Marshal(object.GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}
