# Evenkeel. 'make help' lists the targets; all of them are also plain go commands.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
export CGO_ENABLED ?= 0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0)
COMMANDS ?= ./cmd/...
# the same bytes from the same source, wherever it lies; the Dockerfile builds by these targets too
GOBUILD := go build -trimpath -buildvcs=false -ldflags '-s -w -X evenkeel.dev/evenkeel/internal/version.stamp=evenkeel-release:$(VERSION);'
# where build puts them, a folder
OUT ?= bin
CASES   ?= ../shared/conformance
FUZZTIME ?= 10s
# packages whose tests run real components (make e2e REAL=./test/node for one of them); those of all others need nothing but Go
LIST = go list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... | awk
REAL = $(shell $(LIST) '/evenkeel\/test\/(harness|scale)/ {print $$1}')
UNIT = $(shell $(LIST) '!/evenkeel\/test\/(harness|scale|node)/ {print $$1}')
# packages whose tests also run as Windows executables, besides those of the wine.sh scripts
WINDOWS = $(addprefix ./internal/,pace podstate herd)
STEP := test/components/step.sh

.PHONY: help build components test test-unit test-race test-windows vet lint e2e test-worker bench conformance fuzz release clean
help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

build: ## the three commands, into bin/; for GOOS=windows the stand-in has its version resource
	@if [ "$$(go env GOOS)" = windows ]; then trap 'rm -f cmd/evenkeel-cni/*.syso' EXIT; cmd/evenkeel-cni/resource.sh '$(VERSION)'; fi; \
	$(GOBUILD) -o $(OUT)/ $(COMMANDS)

components: ## build or find what the tests run: control plane, node, Wine, linters (cold: 20 minutes or so)
	@test/components/prereqs.sh
	@for c in tools test/wine test/controlplane test/node; do $$c/build.sh; done

test: ## everything, in order of cost; installs and builds what it needs
	@$(STEP) prerequisites test/components/prereqs.sh
	@for t in vet test-unit lint test-race test-windows test-worker e2e; do $(STEP) $$t $(MAKE) $$t; done

test-unit: ## unit tests, scenario files and command scripts
	go test -shuffle=on $(UNIT)

test-race: ## the same under the race detector
	CGO_ENABLED=1 go test -race -short $(UNIT)

test-windows: ## the node side's tests as real Windows executables, under Wine
	test/cniexe/wine.sh
	test/startgate/wine.sh
	@dir=$$(test/wine/build.sh); trap "$$dir/stopwin" EXIT; $$dir/startwin; \
	GOOS=windows GOARCH=amd64 go test -p 1 -exec $$dir/runwin $(WINDOWS)

vet: ## go vet for Linux and Windows
	GOOS=linux go vet ./...
	GOOS=windows go vet $(UNIT)

lint: ## golangci-lint, for Linux and Windows
	@dir=$$(tools/build.sh); $$dir/golangci-lint run --allow-parallel-runners ./... && GOOS=windows $$dir/golangci-lint run --allow-parallel-runners ./cmd/... ./internal/... ./test/cniexe/...

e2e: ## end to end on a real control plane with fake nodes, and on a real kubelet with containerd (root, Linux)
	@test/controlplane/build.sh >/dev/null; test/node/build.sh >/dev/null
	go test -count=1 -p 1 -timeout 30m $(REAL)

test-worker: ## the edge worker's tests, in the workers' own runtime (npm)
	cd deploy/worker/test && npm ci --no-audit --no-fund && npm test

bench: ## benchmarks
	go test -run '^$$' -bench . -benchmem $(UNIT)

conformance: ## CASES=DIR: the recorded cases of the descheduler
	go run ./internal/conformance/cmd/conformance $(CASES)

fuzz: ## every fuzz test for FUZZTIME each
	@grep -rl --include='*_test.go' '^func Fuzz' cmd internal | sort | while read -r f; do \
	  for n in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$f); do \
	    echo "fuzz $$n ($$(dirname $$f))"; go test -run '^$$' -fuzz "^$$n$$" -fuzztime $(FUZZTIME) ./$$(dirname $$f); done; done

release: ## cross-build all commands into dist/, stripped and reproducible
	@rm -rf dist; for t in linux/amd64 linux/arm64 windows/amd64; do echo "dist/$${t/\//-}"; \
	  GOOS=$${t%/*} GOARCH=$${t#*/} $(MAKE) build OUT=dist/$${t/\//-} VERSION='$(VERSION)'; done
	@cd dist && find * -type f | LC_ALL=C sort | xargs sha256sum | tee /dev/stderr >SHA256SUMS

clean: ## remove what the targets above left in the tree (built test components stay in the cache)
	rm -rf bin dist; go clean -testcache
