# The tools are built once for each set of versions and each Go: hack/tools/go.mod pins them, and a
# linter understands no language newer than the Go that built it.

TOOLS_KEY := $(shell { $(GO) env GOVERSION; cat hack/tools/go.mod hack/tools/go.sum; } | git hash-object --stdin)
TOOLS_DIR ?= $(BIN)/tools/$(TOOLS_KEY)
CONTROLLER_GEN := $(TOOLS_DIR)/controller-gen
# golangci-lint with kube-api-linter added to it
GOLANGCI_LINT := $(TOOLS_DIR)/golangci-lint-kube-api-linter

$(CONTROLLER_GEN) $(GOLANGCI_LINT): $(TOOLS_DIR)/built ;

$(TOOLS_DIR)/built:
	@echo "building controller-gen and golangci-lint: a few minutes, once"
	rm -rf $(BIN)/tools
	CGO_ENABLED=0 $(GO) -C hack/tools build -trimpath -ldflags '-s -w' -o $(TOOLS_DIR)/ tool
	@touch $@
