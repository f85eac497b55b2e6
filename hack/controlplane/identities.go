package main

const (
	adminID      = "admin"
	controllerID = "controller-manager"

	operatorNamespace      = "remit-system"
	operatorServiceAccount = "remit-operator"
)

// identity is somebody who gets a kubeconfig. What they may do is up to the manifests, except for
// the admin and the controller manager, whom Kubernetes itself knows.
type identity struct {
	id     string
	user   string
	groups []string
}

var identities = []identity{
	{id: adminID, user: "admin", groups: []string{"system:masters"}},
	{id: "author", user: "author", groups: []string{"remit:authors"}},
	{id: "approver", user: "approver", groups: []string{"remit:approvers"}},
	// The name and groups of the operator's service account: outside a pod the operator then
	// has exactly the rights that it has in a cluster.
	{
		id:     "operator",
		user:   "system:serviceaccount:" + operatorNamespace + ":" + operatorServiceAccount,
		groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace},
	},
	{id: controllerID, user: "system:kube-controller-manager"},
}
