##@ Build

# main.version is what `remit --version` and the user agent say.
GO_BUILD = CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'
CONTAINER_TOOL ?= docker

.PHONY: build
build: ## Build the operator and the kubectl plugin into bin/
	$(GO_BUILD) -o $(BIN)/ ./cmd/...

.PHONY: docker-build
docker-build: ## Build the operator's image, IMG=name:tag
	$(CONTAINER_TOOL) build --build-arg VERSION=$(VERSION) --tag $(IMG) .

# Built and not `go run`, which does not pass on the signal that ends make.
.PHONY: demo
demo: ## Show a Run that waits for an approval, APPROVE=1 gives it
	@$(GO) build -o $(BIN)/demo ./hack/demo
	@$(BIN)/demo $(if $(APPROVE),--approve)

.PHONY: clean
clean: controlplane-stop ## Remove everything that was built
	rm -rf $(BIN) test/e2e/node_modules
