package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"
)

// portAttempts is how often a component is started on new ports when it loses a race for one.
const portAttempts = 5

// How long each component may take to end by itself.
const (
	controllerGrace = 5 * time.Second
	apiserverGrace  = 20 * time.Second
	etcdGrace       = 10 * time.Second
)

// controlPlane is a running control plane, or the part of it that has been started.
type controlPlane struct {
	layout layout
	assets assets
	log    *logger
	creds  *credentials
	// running holds the components in the order of their start.
	running []*process
	// fail ends the run's context; the first cause wins.
	fail context.CancelCauseFunc

	etcdPort int
	server   string
	api      probe
}

// bringUp starts everything and returns when the API server is ready and its default service
// account exists. Whatever the result, takeDown must follow.
func (cp *controlPlane) bringUp(ctx context.Context, opts runOptions) (readyInfo, error) {
	if err := cp.startEtcd(ctx); err != nil {
		return readyInfo{}, err
	}
	if err := cp.startAPIServer(ctx, opts.auditLog); err != nil {
		return readyInfo{}, err
	}
	paths, err := cp.creds.writeKubeconfigs(cp.layout, cp.server)
	if err != nil {
		return readyInfo{}, err
	}
	delete(paths, controllerID)
	if err := cp.startControllerManager(); err != nil {
		return readyInfo{}, err
	}
	for _, path := range opts.manifests {
		if err := cp.apply(ctx, path); err != nil {
			return readyInfo{}, err
		}
	}
	if err := cp.waitForServiceAccount(ctx); err != nil {
		return readyInfo{}, err
	}
	version, err := cp.api.serverVersion(ctx)
	if err != nil {
		return readyInfo{}, err
	}
	return readyInfo{
		PID:         os.Getpid(),
		Server:      cp.server,
		Version:     version,
		Dir:         cp.layout.dir,
		Kubectl:     cp.assets.path(kubectlName),
		Kubeconfigs: paths,
		AuditLog:    opts.auditLog,
	}, nil
}

func (cp *controlPlane) startEtcd(ctx context.Context) error {
	if err := prepareEtcdData(cp.layout, cp.log); err != nil {
		return err
	}
	err := cp.startOnPorts(ctx, 2, func(ports []int) (component, probe, string) {
		cp.etcdPort = ports[0]
		c := cp.component(etcdName, etcdGrace, etcdArgs(cp.layout, ports[0], ports[1]))
		return c, newProbe(cp.creds.etcd, loopbackURL(ports[0])), "/health"
	})
	if err != nil {
		return err
	}
	return removeIfExists(cp.layout.etcdUnready())
}

func (cp *controlPlane) startAPIServer(ctx context.Context, auditLog string) error {
	return cp.startOnPorts(ctx, 1, func(ports []int) (component, probe, string) {
		cp.server = loopbackURL(ports[0])
		cp.api = newProbe(cp.creds.admin, cp.server)
		c := cp.component(apiserverName, apiserverGrace, apiserverArgs(cp.layout, ports[0], cp.etcdPort, auditLog))
		return c, cp.api, "/readyz"
	})
}

// startControllerManager does not wait: the default service account shows that it works.
func (cp *controlPlane) startControllerManager() error {
	if cp.assets.controllerManager == "" {
		return nil
	}
	p, err := cp.component(controllerName, controllerGrace, controllerManagerArgs(cp.layout)).start()
	if err != nil {
		return err
	}
	cp.supervise(p)
	return nil
}

func (cp *controlPlane) component(name string, grace time.Duration, args []string) component {
	return component{name: name, path: cp.assets.path(name), args: args, log: cp.layout.log(name), grace: grace}
}

// startOnPorts starts a component and waits until it is ready. Between choosing a port and
// listening on it another program may take it: then the component gets new ones.
func (cp *controlPlane) startOnPorts(ctx context.Context, n int, plan func([]int) (component, probe, string)) error {
	for attempt := 1; ; attempt++ {
		ports, err := freePorts(n)
		if err != nil {
			return err
		}
		c, ready, path := plan(ports)
		p, err := c.start()
		if err != nil {
			return err
		}
		ok, err := ready.wait(ctx, path, p.exited)
		ready.close()
		if ok {
			cp.supervise(p)
			return nil
		}
		if err != nil {
			cp.running = append(cp.running, p)
			return fmt.Errorf("%s: %w", c.name, err)
		}
		failure := p.failure()
		if attempt == portAttempts || !portTaken(failure.tail) {
			return failure
		}
		cp.log.printf("%s lost its port to another program: trying another", c.name)
	}
}

// supervise adds p to the components that are needed from now on.
func (cp *controlPlane) supervise(p *process) {
	cp.running = append(cp.running, p)
	go func() {
		<-p.exited
		cp.fail(p.failure())
	}()
}

// waitForServiceAccount waits for the default service account, whose absence would make the
// admission of the first pods fail. Only the controller manager makes it.
func (cp *controlPlane) waitForServiceAccount(ctx context.Context) error {
	if cp.assets.controllerManager == "" {
		return nil
	}
	defer cp.api.close()
	if _, err := cp.api.wait(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil); err != nil {
		return fmt.Errorf("default service account: %w", err)
	}
	return nil
}

// takeDown stops the components in the reverse order of their start. A further signal meanwhile
// means that somebody is in a hurry: what still runs is killed.
func (cp *controlPlane) takeDown() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, stopSignals...)
	defer signal.Stop(signals)
	hurry, done := make(chan struct{}), make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-signals:
			close(hurry)
		case <-done:
		}
	}()
	for _, p := range slices.Backward(cp.running) {
		p.stop(hurry)
	}
}
