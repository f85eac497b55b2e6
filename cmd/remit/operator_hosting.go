// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/controllers"
	"remit.dev/remit/internal/egress"
	"remit.dev/remit/internal/hosting"
	"remit.dev/remit/internal/mcp"
	"remit.dev/remit/internal/mcp/bridge"
)

// operatorContainer is the name of the operator's container in its Pod.
const operatorContainer = "operator"

// hostingFlags are the settings of servers that the operator runs itself.
type hostingFlags struct {
	bridgeImage string
	localStdio  bool
}

func (f *hostingFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.bridgeImage, "bridge-image", "",
		"image with this program as /remit, for the Pods of stdio servers; by default that of the operator's own Pod")
	flags.BoolVar(&f.localStdio, "local-stdio", false,
		"for development: run the commands of stdio servers in this process, with its user and its rights, instead of deploying them. "+
			"Whoever may write an MCPServer then runs programs on this machine")
}

// local starts what runs servers in this process, if it is wanted; the caller closes it.
func (f *hostingFlags) local(leaderElect bool, logger logr.Logger) (*bridge.Local, error) {
	if !f.localStdio {
		return nil, nil
	}
	if leaderElect {
		return nil, errors.New("--local-stdio: a server in this process cannot be reached by other replicas, so it goes without --leader-elect")
	}
	return bridge.NewLocal(slog.New(logr.ToSlogHandler(logger.WithName("stdio")))), nil
}

// hosting completes the settings by what is known of the operator's own Pod. Without an
// image everything but stdio servers works, so that none is no error.
func (f *hostingFlags) hosting(ctx context.Context, reader client.Reader, namespace string, local *bridge.Local, logger logr.Logger) controllers.Hosting {
	image := f.bridgeImage
	if pod := os.Getenv("POD_NAME"); image == "" && pod != "" {
		var err error
		if image, err = imageOf(ctx, reader, types.NamespacedName{Namespace: namespace, Name: pod}); err != nil {
			logger.Error(err, "the image of the operator is not known, so stdio servers are not deployed: set --bridge-image")
		}
	}
	return controllers.Hosting{BridgeImage: image, OperatorNamespace: namespace, Local: local, LookupEnv: os.LookupEnv}
}

// imageOf is the image of the operator in a Pod.
func imageOf(ctx context.Context, reader client.Reader, key types.NamespacedName) (string, error) {
	var pod corev1.Pod
	if err := reader.Get(ctx, key, &pod); err != nil {
		return "", fmt.Errorf("read the operator's Pod %s: %w", key, err)
	}
	for _, container := range pod.Spec.Containers {
		if container.Name == operatorContainer {
			return container.Image, nil
		}
	}
	return "", fmt.Errorf("the operator's Pod %s has no container %q", key, operatorContainer)
}

// hostedOnly keeps the cache to the Deployments, Services and NetworkPolicies that the
// operator makes.
func hostedOnly() cache.Options {
	only := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{hosting.ManagedByLabel: hosting.ManagedBy})}
	return cache.Options{ByObject: map[client.Object]cache.ByObject{
		&appsv1.Deployment{}: only, &corev1.Service{}: only, &networkingv1.NetworkPolicy{}: only,
	}}
}

// transportFor is the way to a server: through memory to one in this process, and past the
// guard to every other.
func transportFor(guard *egress.Guard, local *bridge.Local) func(mcp.Target) http.RoundTripper {
	return func(target mcp.Target) http.RoundTripper {
		if local != nil && target.Bridged {
			return local.Transport
		}
		return guard.Transport(scopeOf(target))
	}
}
