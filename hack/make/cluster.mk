##@ Your cluster, by KUBECONFIG

# The kubectl that `make controlplane` builds will do.
KUBECTL ?= $(firstword $(shell command -v kubectl) $(wildcard $(BIN)/k8s/*/kubectl) kubectl)
APPLY = $(KUBECTL) apply --server-side
DELETE = $(KUBECTL) delete --ignore-not-found
# What is installed: config/default, or an overlay of it.
CONFIG ?= config/default
DEPLOY_DIR := $(BIN)/deploy

.PHONY: install
install: ## Install the CRDs
	$(APPLY) -k config/crd

.PHONY: uninstall
uninstall: ## Remove the CRDs, and with them every object of theirs
	$(DELETE) -k config/crd

.PHONY: deploy
deploy: $(DEPLOY_DIR)/kustomization.yaml ## Install everything, with the operator's image IMG=name:tag
	$(APPLY) -k $(DEPLOY_DIR)

# The CRDs first, as the operator has to let go of the objects before they can go.
.PHONY: undeploy
undeploy: uninstall ## Remove everything
	$(DELETE) -k $(CONFIG)

# An overlay, so that a name of an image changes no file of the repository.
.PHONY: $(DEPLOY_DIR)/kustomization.yaml
$(DEPLOY_DIR)/kustomization.yaml:
	@mkdir -p $(@D)
	@printf '%s\n' 'resources: [../../$(CONFIG)]' 'patches:' '- target: {kind: Deployment}' \
		'  patch: |-' '    [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "$(IMG)"}]' > $@
