##@ Generated files and checks

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate the deep copies of the API types
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...

# Made aside and moved, so that an error leaves the old files, and a removed kind none behind.
.PHONY: manifests
manifests: $(CONTROLLER_GEN) ## Generate the CRDs and the operator's role
	rm -rf $(BIN)/manifests
	$(CONTROLLER_GEN) crd rbac:roleName=remit-operator paths=./api/... paths=./controllers/... \
		output:crd:dir=$(BIN)/manifests/crd output:rbac:dir=$(BIN)/manifests/rbac
	mkdir -p config/crd/bases config/rbac
	rm -f config/crd/bases/*.yaml
	mv $(BIN)/manifests/crd/*.yaml config/crd/bases/
	mv $(BIN)/manifests/rbac/role.yaml config/rbac/role.yaml

.PHONY: verify
verify: $(CONTROLLER_GEN) ## Check that generated files, formatting and go.mod are up to date
	@hack/make/verify.sh $(TOOLS_DIR) $(MODULES)

# $(1) are flags. Everything is linted, whatever is found in what comes before.
lint_all = failed=0; \
	$(GOLANGCI_LINT) run --config .golangci-kal.yaml $(1) ./api/... || failed=1; \
	for module in $(CODE_MODULES); do \
	(cd "$$module" && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yaml $(1) ./...) || failed=1; \
	done; exit "$$failed"

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters
	@$(call lint_all,)

.PHONY: lint-fix
lint-fix: $(GOLANGCI_LINT) ## Format, and mend what the linters can mend
	@$(call lint_all,--fix)
