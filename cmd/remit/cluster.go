// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// clusterFlags say which cluster and namespace a command reads.
type clusterFlags struct {
	namespace  string
	kubeconfig string
	context    string
}

func (f *clusterFlags) addTo(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace; that of the kubeconfig's context unless given")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "path of the kubeconfig; $KUBECONFIG unless given")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig")
}

// connect gives a client with the rights of the user, and the namespace.
func (f *clusterFlags) connect() (client.Reader, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.context}
	overrides.Context.Namespace = f.namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("find a cluster: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", err
	}
	config.UserAgent = "remit/" + version
	reader, err := client.New(config, client.Options{Scheme: newScheme()})
	return reader, namespace, err
}
