// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/controllers"
	"remit.dev/remit/internal/publish/publishtest"
	"remit.dev/remit/test/testenv"
)

// operatorAgent tells the operator's writes from the tests' own.
const operatorAgent = "publishing-operator"

var (
	env    *testenv.Env
	scheme = runtime.NewScheme()
	// admin reads and writes without a cache.
	admin client.Client
	// specs and versions run in the background, and can be asked to reconcile.
	specs    *controllers.SpecReconciler
	versions *controllers.VersionReconciler

	functions = sets.New(publishtest.Function)
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctrllog.SetLogger(logr.Discard())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	if err == nil {
		env, err = testenv.Start(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	stopped, err := start(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	cancel()
	if err := <-stopped; err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// start starts the controllers that publish, and only those.
func start(ctx context.Context) (<-chan error, error) {
	config := rest.CopyConfig(env.Config)
	config.QPS, config.Burst = -1, 0
	var err error
	if admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.UserAgent = operatorAgent
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, err
	}
	for _, index := range controllers.Indexes {
		if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
			return nil, err
		}
	}
	specs = &controllers.SpecReconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Now: time.Now, Functions: functions}
	versions = &controllers.VersionReconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Now: time.Now}
	if err := errors.Join(specs.SetupWithManager(mgr), versions.SetupWithManager(mgr)); err != nil {
		return nil, err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil, errors.New("the cache was not filled")
	}
	return stopped, nil
}

// The bound is for a machine that is busy with much else.
const (
	patience = 2 * time.Minute
	interval = 20 * time.Millisecond
)

// await waits until check has nothing to complain about.
func await(t *testing.T, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), interval, patience, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}

// operatorWrites are the operator's writes in a namespace since a mark.
func operatorWrites(t *testing.T, since testenv.Mark, namespace string) []testenv.Write {
	t.Helper()
	all, err := env.Writes(since)
	if err != nil {
		t.Fatal(err)
	}
	var own []testenv.Write
	for _, w := range all {
		if w.UserAgent == operatorAgent && w.Namespace == namespace {
			own = append(own, w)
		}
	}
	return own
}

func mark(t *testing.T) testenv.Mark {
	t.Helper()
	m, err := env.Mark()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func requestFor(object client.Object) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
}
