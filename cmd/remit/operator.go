// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/controllers"
	"remit.dev/remit/internal/credentials"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/gate"
	"remit.dev/remit/internal/httptool"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/mcp/bridge"
	"remit.dev/remit/internal/metrics"
	"remit.dev/remit/internal/model"
	"remit.dev/remit/internal/narrowing"
	"remit.dev/remit/internal/pipeline"
	"remit.dev/remit/internal/tools"
)

// shutdownTimeout is how long a replica that is stopped waits for the effects that
// it has begun. It is longer than the longest call.
const shutdownTimeout = 3 * time.Minute

// operatorFlags are the settings of the operator.
type operatorFlags struct {
	metricsAddress string
	probeAddress   string
	namespace      string
	identity       string
	leaderElect    bool

	egressAllow []string
	hosting     hostingFlags
	webhooks    webhookFlags

	selectors         []string
	approvalExpiry    time.Duration
	maxApprovalExpiry time.Duration
	modelTimeout      time.Duration
	deferAbove        int
	workers           int
	verbose           bool
}

func newOperatorCommand() *cobra.Command {
	flags := &operatorFlags{}
	command := &cobra.Command{
		Use:   "operator",
		Short: "Run the operator",
		Long: "Run the operator: it publishes Specs, keeps the catalogue of MCPServers, shows what Grants give, and executes Runs.\n" +
			"The cluster is the one of the Pod it runs in, or that of $KUBECONFIG.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return runOperator(command.Context(), flags) },
	}
	f := command.Flags()
	f.StringVar(&flags.metricsAddress, "metrics-bind-address", "127.0.0.1:8080", "address of the metrics endpoint; 0 turns it off")
	f.StringVar(&flags.probeAddress, "health-probe-bind-address", "127.0.0.1:8081", "address of /healthz and /readyz; 0 turns it off")
	f.StringVar(&flags.namespace, "namespace", envOr("POD_NAMESPACE", "remit-system"), "namespace of the operator's Leases")
	f.StringVar(&flags.identity, "identity", envOr("POD_NAME", hostname()), "name of this replica; the same after a restart")
	f.BoolVar(&flags.leaderElect, "leader-elect", false, "let one replica publish and discover; every replica executes Runs")
	f.StringSliceVar(&flags.egressAllow, "egress-allow", nil,
		"address ranges (CIDR) that may be reached although they are not public, such as those of the cluster's Services")
	flags.hosting.add(f)
	flags.webhooks.add(f)
	f.StringSliceVar(&flags.selectors, "approval-selectors", selectorStrings(gate.DefaultSelectors),
		"approval selectors of a Grant that sets none: @all, @write, @destructive")
	f.DurationVar(&flags.approvalExpiry, "approval-expiry", 24*time.Hour, "how long a call waits for a decision")
	f.DurationVar(&flags.maxApprovalExpiry, "max-approval-expiry", 7*24*time.Hour, "the longest that a Run may ask a call to wait")
	f.DurationVar(&flags.modelTimeout, "model-timeout", model.DefaultTimeout, "how long one model call may take")
	f.IntVar(&flags.deferAbove, "defer-tools-above", narrowing.DefaultDeferAbove,
		"number of tools of a Run above which those that are not preloaded are deferred behind search_tools and call_tool, 0 to 2000")
	f.IntVar(&flags.workers, "run-workers", 32, "number of Runs that take a step at the same time, 1 to 512")
	f.BoolVar(&flags.verbose, "verbose", false, "log what is of use to developers too")
	return command
}

func runOperator(ctx context.Context, flags *operatorFlags) error {
	logger := zap.New(zap.UseDevMode(flags.verbose))
	ctrl.SetLogger(logger)
	options, err := flags.runOptions()
	if err != nil {
		return err
	}
	allow, err := prefixes(flags.egressAllow)
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find a cluster: %w", err)
	}
	config.UserAgent = "remit/" + version
	// Every Run that takes a step writes once or twice; the API server's own
	// priority and fairness is the limit, not a client's.
	config.QPS, config.Burst = -1, 0

	timeout := shutdownTimeout
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        newScheme(),
		Cache:                         hostedOnly(),
		Logger:                        logger,
		Metrics:                       metricsserver.Options{BindAddress: flags.metricsAddress},
		HealthProbeBindAddress:        flags.probeAddress,
		LeaderElection:                flags.leaderElect,
		LeaderElectionID:              "remit-operator",
		LeaderElectionNamespace:       flags.namespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &timeout,
	})
	if err != nil {
		return err
	}
	local, err := flags.hosting.local(flags.leaderElect, logger)
	if err != nil {
		return err
	}
	if local != nil {
		defer local.Close() // when no Run uses it any more
	}
	if err := setup(ctx, mgr, logger, flags, options, allow, local); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// setup wires the parts of the operator together.
func setup(ctx context.Context, mgr ctrl.Manager, logger logr.Logger, flags *operatorFlags, options controllers.RunOptions, allow []netip.Prefix, local *bridge.Local) error {
	count, err := metrics.Egress(ctrlmetrics.Registry)
	if err != nil {
		return err
	}
	guard := egress.New(egress.Options{Allow: allow, Observe: observeEgress(logger.WithName("egress"), count)})
	client := mcp.NewClient(mcp.Options{
		TransportFor: transportFor(guard, local),
		Version:      version,
		Logger:       slog.New(logr.ToSlogHandler(logger.WithName("mcp"))),
	})
	if err := mgr.Add(everyReplica{client.Start}); err != nil {
		return err
	}
	ownership := &controllers.Ownership{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Identity: flags.identity,
		Namespace: flags.namespace, Duration: controllers.LeaseDuration, Now: time.Now,
	}
	if err := mgr.Add(ownership); err != nil {
		return err
	}
	secrets := credentials.New(credentials.Options{Reader: mgr.GetAPIReader(), Guard: guard})
	if err := ctrlmetrics.Registry.Register(metrics.Collector{Sessions: client.Stats, Credentials: secrets.Stats}); err != nil {
		return err
	}
	catalogue := controllers.NewCatalogue(client)
	functions := tools.NewFunctions(time.Now)
	programs, err := newSandboxRunner()
	if err != nil {
		return err
	}

	for _, index := range controllers.Indexes {
		if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
			return err
		}
	}
	reconcilers := []interface{ SetupWithManager(ctrl.Manager) error }{
		&controllers.SpecReconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Now: time.Now, Functions: functions},
		&controllers.VersionReconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Now: time.Now},
		&controllers.MCPServerReconciler{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Now: time.Now, Catalogue: catalogue, Credentials: secrets,
			Hosting: flags.hosting.hosting(ctx, mgr.GetAPIReader(), flags.namespace, local, logger)},
		&controllers.GrantReconciler{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Now: time.Now, Credentials: secrets, Selectors: options.Selectors},
		&controllers.RunReconciler{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Now: time.Now, Ownership: ownership, Catalogue: catalogue,
			MCP: client, Guard: guard, Credentials: secrets, Functions: functions, Sandbox: programs,
			HTTP:     httptool.NewClient(httptool.Options{Guard: guard, Credentials: secrets, Jitter: rand.Float64}),
			Failover: model.Failover{Jitter: rand.Float64}, Options: options},
	}
	for _, reconciler := range reconcilers {
		if err := reconciler.SetupWithManager(mgr); err != nil {
			return err
		}
	}
	if err := flags.webhooks.serve(mgr, logger); err != nil {
		return err
	}
	return errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping))
}

// approvalSelectors reads the flag --approval-selectors.
func approvalSelectors(flag []string) ([]v1alpha1.ApprovalSelector, error) {
	selectors := []v1alpha1.ApprovalSelector{}
	for _, selector := range flag {
		switch tag := v1alpha1.ApprovalSelector(selector); tag {
		case v1alpha1.ApprovalAll, v1alpha1.ApprovalWrite, v1alpha1.ApprovalDestructive:
			selectors = append(selectors, tag)
		default:
			return nil, fmt.Errorf("--approval-selectors: %q is none of @all, @write and @destructive", selector)
		}
	}
	return selectors, nil
}

// runOptions checks the flags that concern Runs.
func (f *operatorFlags) runOptions() (controllers.RunOptions, error) {
	options := controllers.RunOptions{
		ApprovalExpiry:    f.approvalExpiry,
		MaxApprovalExpiry: f.maxApprovalExpiry,
		ModelTimeout:      f.modelTimeout,
		DeferAbove:        f.deferAbove,
		Workers:           f.workers,
	}
	var err error
	if options.Selectors, err = approvalSelectors(f.selectors); err != nil {
		return options, err
	}
	switch {
	case f.workers < 1 || f.workers > 512:
		return options, fmt.Errorf("--run-workers: %d is not between 1 and 512", f.workers)
	case f.deferAbove < 0 || f.deferAbove > pipeline.MaxTools:
		return options, fmt.Errorf("--defer-tools-above: %d is not between 0 and %d", f.deferAbove, pipeline.MaxTools)
	case f.approvalExpiry <= 0 || f.approvalExpiry > f.maxApprovalExpiry:
		return options, fmt.Errorf("--approval-expiry: %s is not between 0s and --max-approval-expiry, which is %s", f.approvalExpiry, f.maxApprovalExpiry)
	case f.modelTimeout <= 0:
		return options, fmt.Errorf("--model-timeout: %s is not more than 0s", f.modelTimeout)
	}
	if problems := validation.IsDNS1123Subdomain(f.identity); len(problems) > 0 {
		return options, fmt.Errorf("--identity: %q cannot be part of the name of a Lease: %s", f.identity, strings.Join(problems, "; "))
	}
	err = f.webhooks.complete(&options)
	return options, err
}

func prefixes(texts []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--egress-allow: %q is no address range such as 10.0.0.0/8", text)
		}
		list = append(list, prefix)
	}
	return list, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // the kinds are constants
		}
	}
	return scheme
}

// scopeOf is what the connections to a server may reach. A credential leaves for public
// addresses under TLS alone.
func scopeOf(target mcp.Target) egress.Scope {
	scope := egress.For(target.Namespace, target.URL, !target.Credential.IsZero())
	if target.ClusterInternal {
		scope.Allow = egress.ClusterInternal()
	}
	return scope
}

// observeEgress logs refusals, and every decision for developers, and counts them all.
func observeEgress(logger logr.Logger, count func(egress.Decision)) func(egress.Decision) {
	return func(decision egress.Decision) {
		count(decision)
		level := 1
		if !decision.Allowed {
			level = 0
		}
		logger.V(level).Info("connection", "tenant", decision.Tenant, "host", decision.Host, "port", decision.Port,
			"address", decision.Address.String(), "allowed", decision.Allowed, "rule", decision.Rule)
	}
}

func selectorStrings(selectors []v1alpha1.ApprovalSelector) []string {
	texts := make([]string, 0, len(selectors))
	for _, selector := range selectors {
		texts = append(texts, string(selector))
	}
	return texts
}

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// hostname is this machine's name in the form that the name of a Lease takes.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, name), "-.")
}

// everyReplica runs something on each replica, leader or not.
type everyReplica struct{ start func(context.Context) error }

func (r everyReplica) Start(ctx context.Context) error { return r.start(ctx) }

func (everyReplica) NeedLeaderElection() bool { return false }
