// SPDX-License-Identifier: Apache-2.0

package hosting

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"remit.dev/remit/api/v1alpha1"
)

// operatorLabels are on the operator's Pods.
var operatorLabels = map[string]string{nameLabel: "remit", componentLabel: "operator"}

// What a server may never reach: link-local addresses, loopback, and those where
// clouds hand out credentials outside of these.
var (
	neverIPv4 = []string{"100.100.100.200/32", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "192.0.0.192/32"}
	neverIPv6 = []string{"::1/128", "fd00:ec2::23/128", "fd00:ec2::254/128", "fd20:ce::254/128", "fe80::/10"}
)

// What is not on the Internet (RFC 6890). Of IPv6 only 2000::/3 is; its tunnels carry
// IPv4 addresses of the sender's choice.
var (
	notInternetIPv4 = []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16",
		"172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
	}
	notInternetIPv6 = []string{"2001::/32", "2002::/16"}
)

// networkPolicy lets in the operator alone, and lets out what the MCPServer says.
func networkPolicy(server *v1alpha1.MCPServer, operatorNamespace string) *networkingv1.NetworkPolicy {
	port, _ := endpoint(server)
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: objectMeta(server),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: Selector(server)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				Ports: ports(port, corev1.ProtocolTCP),
				From: []networkingv1.NetworkPolicyPeer{{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: operatorNamespace}},
					PodSelector:       &metav1.LabelSelector{MatchLabels: operatorLabels},
				}},
			}},
			Egress: egressRules(workload(server).Egress),
		},
	}
}

func workload(server *v1alpha1.MCPServer) *v1alpha1.Workload {
	if hosted := server.Spec.Transport.Hosted; hosted != nil {
		return &hosted.Workload
	}
	return &server.Spec.Transport.Stdio.Workload
}

func egressRules(egress v1alpha1.ServerEgress) []networkingv1.NetworkPolicyEgressRule {
	var to []networkingv1.NetworkPolicyPeer
	switch egress {
	case v1alpha1.EgressInternet:
		to = []networkingv1.NetworkPolicyPeer{block("0.0.0.0/0", notInternetIPv4), block("2000::/3", notInternetIPv6)}
	case v1alpha1.EgressAny:
		to = []networkingv1.NetworkPolicyPeer{block("0.0.0.0/0", neverIPv4), block("::/0", neverIPv6)}
	default:
		return nil
	}
	return []networkingv1.NetworkPolicyEgressRule{
		{To: to},
		// Name servers have private addresses, and their Pods another port on OpenShift.
		{To: nameServers, Ports: append(ports(53, corev1.ProtocolTCP, corev1.ProtocolUDP), ports(5353, corev1.ProtocolTCP, corev1.ProtocolUDP)...)},
	}
}

// nameServers are where clusters run theirs. Nothing else is reached by these ports:
// a link-local address may be a cloud's metadata service.
var nameServers = []networkingv1.NetworkPolicyPeer{
	inNamespace("kube-system"), inNamespace("openshift-dns"),
}

func inNamespace(name string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: name}}}
}

func block(cidr string, except []string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: except}}
}

func ports(number int32, protocols ...corev1.Protocol) []networkingv1.NetworkPolicyPort {
	var list []networkingv1.NetworkPolicyPort
	for _, protocol := range protocols {
		port := intstr.FromInt32(number)
		list = append(list, networkingv1.NetworkPolicyPort{Port: &port, Protocol: &protocol})
	}
	return list
}
