package main

import "encoding/json"

// The subset of a kubeconfig that is needed here. It is written as JSON, which is YAML too.
type kubeconfig struct {
	APIVersion     string         `json:"apiVersion"`
	Kind           string         `json:"kind"`
	CurrentContext string         `json:"current-context"`
	Clusters       []namedCluster `json:"clusters"`
	Users          []namedUser    `json:"users"`
	Contexts       []namedContext `json:"contexts"`
}

type namedCluster struct {
	Name    string  `json:"name"`
	Cluster cluster `json:"cluster"`
}

type cluster struct {
	Server string `json:"server"`
	// CA and the two fields of user are PEM, which encoding/json writes in base64.
	CA []byte `json:"certificate-authority-data"`
}

type namedUser struct {
	Name string `json:"name"`
	User user   `json:"user"`
}

type user struct {
	Cert []byte `json:"client-certificate-data"`
	Key  []byte `json:"client-key-data"`
}

type namedContext struct {
	Name    string        `json:"name"`
	Context configContext `json:"context"`
}

type configContext struct {
	Cluster   string `json:"cluster"`
	User      string `json:"user"`
	Namespace string `json:"namespace"`
}

const clusterName = "remit"

// encodeKubeconfig holds everything by value, so that the file may be moved.
func encodeKubeconfig(server string, ca []byte, name string, pair keyPair) ([]byte, error) {
	context := name + "@" + clusterName
	data, err := json.MarshalIndent(kubeconfig{
		APIVersion:     "v1",
		Kind:           "Config",
		CurrentContext: context,
		Clusters:       []namedCluster{{Name: clusterName, Cluster: cluster{Server: server, CA: ca}}},
		Users:          []namedUser{{Name: name, User: user{Cert: pair.cert, Key: pair.key}}},
		Contexts: []namedContext{{
			Name:    context,
			Context: configContext{Cluster: clusterName, User: name, Namespace: "default"},
		}},
	}, "", "  ")
	return append(data, '\n'), err
}
