##@ Test

# RACE= tests without the race detector, which needs a C compiler.
RACE ?= -race
# PACKAGES=./internal/... tests less.
PACKAGES ?= $$($(GO) list ./... | grep -v /test/e2e)
TESTFLAGS ?=
BENCHFLAGS ?= -benchmem
# A time for each target, or a number of inputs followed by x.
FUZZTIME ?= 10s

# In CI a result of an earlier run proves nothing.
GO_TEST = $(if $(RACE),CGO_ENABLED=1) $(GO) test $(RACE) $(if $(CI),-count=1)

# Binaries that the user named win, and then nothing is built.
ifneq ($(KUBEBUILDER_ASSETS),)
override KUBEBUILDER_ASSETS := $(abspath $(KUBEBUILDER_ASSETS))
export KUBEBUILDER_ASSETS
else
ENVTEST_BINARIES := controlplane
endif
ENVTEST_ENV = eval "$$($(CONTROLPLANE) env --bin $(BIN))" &&

.PHONY: test
test: $(if $(CI),verify lint) test-unit e2e $(if $(CI),fuzz-ci) ## Run all tests; with CI=true the checks, too

.PHONY: test-unit
test-unit: cc $(ENVTEST_BINARIES) npm ## Run the tests of the packages, on an API server where they need one
	$(ENVTEST_ENV) $(GO_TEST) -timeout 20m $(TESTFLAGS) $(PACKAGES)
	cd hack/controlplane && $(GO_TEST) -timeout 20m $(TESTFLAGS) ./...
	@# The bounds on memory hold for a program, and not for a race detector beside it.
	$(GO) test -timeout 5m $(TESTFLAGS) ./internal/sandbox

.PHONY: e2e
e2e: cc $(ENVTEST_BINARIES) npm ## Run the operator against a real control plane and real MCP servers
	$(ENVTEST_ENV) $(GO_TEST) -timeout 40m $(TESTFLAGS) ./test/e2e/...

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME
	@GO="$(GO)" hack/make/fuzz.sh $(FUZZTIME)

# The canonical form for a minute, since every hash rests on it. The targets of packages with large
# dependencies take minutes to compile for fuzzing; their seeds are part of the tests.
.PHONY: fuzz-ci
fuzz-ci:
	@GO="$(GO)" hack/make/fuzz.sh 60s internal/canonical internal/octool
	@GO="$(GO)" hack/make/fuzz.sh 2000x internal/engine internal/narrowing

.PHONY: bench
bench: ## Run the benchmarks
	$(GO) test -run '^$$' -bench . $(BENCHFLAGS) ./...

.PHONY: cc
cc:
ifneq ($(RACE),)
	@set -- $$($(GO) env CC); command -v "$$1" >/dev/null || { \
		echo "the race detector needs a C compiler, and there is no $$1: install one" \
			"(on Debian: apt-get install gcc libc6-dev), or test without it: make test RACE=" >&2; exit 1; }
endif

NPM_INSTALLED := test/e2e/node_modules/.package-lock.json

.PHONY: npm
ifneq ($(shell command -v npm),)
npm: $(NPM_INSTALLED)
else
npm:
	@echo "there is no npm: $(if $(CI),CI must test,this does not test) the MCP servers that come from it" >&2
	@$(if $(CI),exit 1)
endif

# npm writes this file itself, with the time of the packages.
$(NPM_INSTALLED): test/e2e/package.json test/e2e/package-lock.json
	npm --prefix test/e2e ci --ignore-scripts --no-audit --no-fund
	@touch $@
