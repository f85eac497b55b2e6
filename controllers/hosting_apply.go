// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1apply "k8s.io/client-go/applyconfigurations/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
)

// hostingOwner is the field manager of what the operator applies.
const hostingOwner = "remit-operator"

// hostedObject is one object that runs a server: as it should be, and as it is.
type hostedObject struct {
	kind    string
	desired client.Object
	// live is as it was read, or as it is since it was applied; without a uid there is none.
	live client.Object
	// applied gives what of the live object this operator has applied, and empty the
	// object to read that into.
	applied func() (any, error)
	empty   client.Object
}

// String names the object.
func (o *hostedObject) String() string {
	return fmt.Sprintf("%s %q in namespace %q", o.kind, o.desired.GetName(), o.desired.GetNamespace())
}

func hostedDeployment(desired *appsv1.Deployment) *hostedObject {
	live := &appsv1.Deployment{}
	return &hostedObject{"Deployment", desired, live,
		func() (any, error) { return appsv1apply.ExtractDeployment(live, hostingOwner) }, &appsv1.Deployment{}}
}

func hostedService(desired *corev1.Service) *hostedObject {
	live := &corev1.Service{}
	return &hostedObject{"Service", desired, live,
		func() (any, error) { return corev1apply.ExtractService(live, hostingOwner) }, &corev1.Service{}}
}

func hostedPolicy(desired *networkingv1.NetworkPolicy) *hostedObject {
	live := &networkingv1.NetworkPolicy{}
	return &hostedObject{"NetworkPolicy", desired, live,
		func() (any, error) { return networkingv1apply.ExtractNetworkPolicy(live, hostingOwner) }, &networkingv1.NetworkPolicy{}}
}

// readHosted reads the live object, and is a problem if somebody else has made it.
func (r *MCPServerReconciler) readHosted(ctx context.Context, server *v1alpha1.MCPServer, object *hostedObject) error {
	key := client.ObjectKeyFromObject(object.desired)
	err := r.Get(ctx, key, object.live)
	if apierrors.IsNotFound(err) {
		// The cache holds the operator's own alone.
		err = r.Reader.Get(ctx, key, object.live)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", object, err)
	}
	if !metav1.IsControlledBy(object.live, server) {
		return &hostingProblem{v1alpha1.ReasonNameTaken,
			fmt.Sprintf("%s does not belong to this MCPServer and is left alone: remove it, or give the MCPServer another name", object), true}
	}
	if !object.live.GetDeletionTimestamp().IsZero() {
		return &hostingProblem{v1alpha1.ReasonDeploying, fmt.Sprintf("waits until %s is deleted", object), false}
	}
	return nil
}

// applyHosted writes the object unless all that the operator says of it is as it says. It
// takes over fields that others have changed, but no object: with the uid it changes the
// one that was read, and without any the API server refuses to apply over another's.
func (r *MCPServerReconciler) applyHosted(ctx context.Context, object *hostedObject) error {
	options := []client.ApplyOption{client.FieldOwner(hostingOwner)}
	exists := object.live.GetUID() != ""
	if exists {
		same, err := object.isApplied()
		if err != nil || same {
			return err
		}
		options = append(options, client.ForceOwnership)
	}
	content, err := applyContent(object.desired)
	if err != nil {
		return err
	}
	if exists {
		content.SetUID(object.live.GetUID())
	}
	if err := r.Apply(ctx, client.ApplyConfigurationFromUnstructured(content), options...); err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, object.live)
}

// isApplied compares what the operator last applied, as far as it is still so, with what
// it would apply.
func (o *hostedObject) isApplied() (bool, error) {
	applied, err := o.applied()
	if err != nil {
		return false, fmt.Errorf("read the fields of %s: %w", o, err)
	}
	text, err := json.Marshal(applied)
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, o.empty); err != nil {
		return false, err
	}
	return equality.Semantic.DeepEqual(o.empty, o.desired), nil
}

// applyContent is an object as it is applied: without its status, and without fields
// that are null.
func applyContent(object client.Object) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	content := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &content.Object); err != nil {
		return nil, err
	}
	delete(content.Object, "status")
	dropNulls(content.Object)
	return content, nil
}

func dropNulls(object map[string]any) {
	for name, value := range object {
		switch value := value.(type) {
		case nil:
			delete(object, name)
		case map[string]any:
			dropNulls(value)
		}
	}
}

// unhost deletes what runs the server, if the operator made it.
func (r *MCPServerReconciler) unhost(ctx context.Context, server *v1alpha1.MCPServer) error {
	for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}} {
		err := r.Get(ctx, client.ObjectKeyFromObject(server), object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %T %s/%s: %w", object, server.Namespace, server.Name, err)
		}
		if !metav1.IsControlledBy(object, server) || !object.GetDeletionTimestamp().IsZero() {
			continue
		}
		uid := object.GetUID()
		err = r.Delete(ctx, object, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %T %s/%s: %w", object, server.Namespace, server.Name, err)
		}
	}
	return nil
}
