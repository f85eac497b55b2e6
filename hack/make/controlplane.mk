##@ A control plane without a cluster

CONTROLPLANE_DIR := $(BIN)/cluster

.PHONY: controlplane
controlplane: ## Build kube-apiserver, etcd, kube-controller-manager and kubectl, once
	@$(CONTROLPLANE) build --bin $(BIN) >/dev/null

.PHONY: controlplane-start
controlplane-start: ## Start a control plane on loopback, for `make install` and your own tries
	@$(CONTROLPLANE) start --bin $(BIN) --dir $(CONTROLPLANE_DIR)
	@echo "export KUBECONFIG=$(CONTROLPLANE_DIR)/admin.kubeconfig"

.PHONY: controlplane-stop
controlplane-stop: ## Stop it
	@$(CONTROLPLANE) stop --dir $(CONTROLPLANE_DIR)
