// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"remit.dev/remit/api/v1alpha1"
	"remit.dev/remit/internal/offline"
	"remit.dev/remit/internal/publish/publishtest"
)

// The hash that the offline commands give is the one that the operator gives on a
// real API server, to which kubectl sent the very same files.
func TestOfflineHashesAreTheClusters(t *testing.T) {
	const count = 500
	namespace := env.Namespace(t)
	checker, err := offline.NewChecker(functions)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	want := map[string]v1alpha1.Digest{}
	for i := range count {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		agent := publishtest.New(r).Rewrite(r)
		name := fmt.Sprintf("agent-%d", i)
		file, text := name+".yaml", agent.YAML(r, name)
		if i%2 == 0 {
			file, text = name+".json", agent.JSON(r, name)
		}
		report := checker.Check(t.Context(), offline.Source{Name: name, Content: text})
		objects := report.Objects
		if err := report.Err(); err != nil || len(objects) != 1 || objects[0].Hash == "" {
			t.Fatalf("%v, %v in\n%s", objects, err, text)
		}
		want[name] = objects[0].Hash
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := env.Kubectl(t.Context(), "create", "-n", namespace, "-f", dir); err != nil {
		t.Fatal(err, out)
	}
	got := map[string]v1alpha1.Digest{}
	await(t, func(ctx context.Context) error {
		var all v1alpha1.SpecList
		if err := admin.List(ctx, &all, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range all.Items {
			if spec := &all.Items[i]; spec.Status.ObservedGeneration == spec.Generation {
				got[spec.Name] = spec.Status.Hash
			}
		}
		if len(got) < count {
			return fmt.Errorf("%d of %d are published", len(got), count)
		}
		return nil
	})
	for name, hash := range want {
		if got[name] != hash {
			t.Errorf("%s: offline %s, in the cluster %s", name, hash, got[name])
		}
	}
}
