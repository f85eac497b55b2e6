# What there is to do with this repository; `make help` lists it. The recipes are in hack/make.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Every recipe uses all cores by itself.
.NOTPARALLEL:

GO ?= go
BIN := $(CURDIR)/bin
# Of the modules below hack, that of the tools holds nothing but their versions.
MODULES := . $(patsubst %/,%,$(dir $(wildcard hack/*/go.mod)))
CODE_MODULES := $(filter-out hack/tools,$(MODULES))
CONTROLPLANE := $(GO) -C hack/controlplane run .
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# The image that `make docker-build` makes and `make deploy` runs.
IMG ?= remit:$(VERSION)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' \
		'/^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-19s %s\n", $$1, $$2}' \
		$(MAKEFILE_LIST)

include hack/make/tools.mk
include hack/make/build.mk
include hack/make/test.mk
include hack/make/generate.mk
include hack/make/controlplane.mk
include hack/make/cluster.mk
