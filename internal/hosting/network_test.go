// SPDX-License-Identifier: Apache-2.0

package hosting

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"remit.dev/remit/api/v1alpha1"
)

// Only the operator's Pods reach a server, and only its port.
func TestIngress(t *testing.T) {
	for name, row := range map[string]struct {
		of   *v1alpha1.MCPServer
		port int32
	}{"hosted": {hostedServer(), 9000}, "stdio": {stdioServer(), 8080}} {
		got := build(t, row.of).NetworkPolicy.Spec
		want := []networkingv1.NetworkPolicyIngressRule{{
			Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(row.port)), Protocol: new(corev1.ProtocolTCP)}},
			From: []networkingv1.NetworkPolicyPeer{{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "remit-system"}},
				PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "remit", "app.kubernetes.io/component": "operator"}},
			}},
		}}
		if diff := cmp.Diff(want, got.Ingress); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]networkingv1.PolicyType{"Ingress", "Egress"}, got.PolicyTypes); diff != "" {
			t.Errorf("%s: types (-want +got):\n%s", name, diff)
		}
	}
}

// lets says whether a policy lets a connection out, as the API documents its rules.
func lets(policy *networkingv1.NetworkPolicy, to netip.Addr, port int32) bool {
	for _, rule := range policy.Spec.Egress {
		onPort := len(rule.Ports) == 0
		for _, p := range rule.Ports {
			onPort = onPort || p.Port.IntVal == port
		}
		toPeer := len(rule.To) == 0
		for _, peer := range rule.To {
			if peer.IPBlock == nil { // Pods, which no address here is one of
				continue
			}
			inside := netip.MustParsePrefix(peer.IPBlock.CIDR).Contains(to)
			for _, except := range peer.IPBlock.Except {
				inside = inside && !netip.MustParsePrefix(except).Contains(to)
			}
			toPeer = toPeer || inside
		}
		if onPort && toPeer {
			return true
		}
	}
	return false
}

func TestEgress(t *testing.T) {
	// Which of none, Internet and Any lets out to the address, on a port that is not that of name servers.
	for address, want := range map[string][3]bool{
		"1.1.1.1":              {false, true, true},
		"2606:4700:4700::1111": {false, true, true},
		"10.96.0.1":            {false, false, true},
		"172.16.0.1":           {false, false, true},
		"192.168.1.1":          {false, false, true},
		"100.64.0.1":           {false, false, true},
		"fd12:3456::1":         {false, false, true},
		"224.0.0.1":            {false, false, true},
		"2002:a00:1::1":        {false, false, true}, // 10.0.0.1 by 6to4
		"127.0.0.1":            {},
		"::1":                  {},
		"169.254.169.254":      {},
		"169.254.170.2":        {},
		"fe80::1":              {},
		"fd00:ec2::254":        {},
		"fd20:ce::254":         {},
		"100.100.100.200":      {},
		"168.63.129.16":        {},
		"192.0.0.192":          {},
	} {
		for i, egress := range []v1alpha1.ServerEgress{v1alpha1.EgressNone, v1alpha1.EgressInternet, v1alpha1.EgressAny} {
			policy := build(t, hostedServer(func(h *v1alpha1.HostedTransport) { h.Egress = egress })).NetworkPolicy
			if got := lets(policy, netip.MustParseAddr(address), 443); got != want[i] {
				t.Errorf("%s to %s: %v, want %v", egress, address, got, want[i])
			}
			// The port of name servers opens no other address: one may be a cloud's metadata service.
			if got := lets(policy, netip.MustParseAddr(address), 53); got != want[i] {
				t.Errorf("%s to %s on port 53: %v, want %v", egress, address, got, want[i])
			}
		}
	}
}

// Name servers are reached where clusters run theirs, unless there is to be nothing at all.
func TestNameServers(t *testing.T) {
	for egress, want := range map[v1alpha1.ServerEgress][]string{
		v1alpha1.EgressNone: nil, v1alpha1.EgressInternet: {"kube-system", "openshift-dns"}, v1alpha1.EgressAny: {"kube-system", "openshift-dns"},
	} {
		policy := build(t, hostedServer(func(h *v1alpha1.HostedTransport) { h.Egress = egress })).NetworkPolicy
		var got []string
		for _, rule := range policy.Spec.Egress {
			for _, peer := range rule.To {
				if peer.NamespaceSelector != nil && len(rule.Ports) > 0 {
					got = append(got, peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", egress, diff)
		}
	}
}
