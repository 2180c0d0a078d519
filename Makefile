# What make can do here. A recipe of more than a few lines is a script.

SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-print-directory

# A clone that belongs to another user has no version to stamp.
export GOFLAGS := $(strip $(shell go env GOFLAGS 2>/dev/null) -buildvcs=false)

FUZZ     ?= .   # which targets to fuzz
FUZZTIME ?= 30s # how long each
BENCH    ?= .   # which benchmarks to run
COUNT    ?= 6   # how often each
OLD      ?=     # a copy of an earlier dist/bench.txt, to compare with
ARGS     ?=     # flags of bench, flags and packages of mutate

.PHONY: help
help: ## Say what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## Install what the tests need (Debian, Ubuntu), or say what is missing
	@scripts/deps.sh

.PHONY: build
build: ## Build each module by itself, as its users do
	@scripts/each.sh go build -o /dev/null ./...

.PHONY: fmt
fmt: ## Format all Go files and sort their imports
	@"$$(scripts/tool.sh golangci-lint)" fmt

.PHONY: lint
lint: ## Run go vet and the linters of .golangci.yml (the first time builds them: two minutes)
	go vet work
	@scripts/each.sh "$$(scripts/tool.sh golangci-lint)" run ./...

.PHONY: test
test: deps ## Run what every change passes: lint, builds, benchmarks once, fuzz 5 s a target, tests with -race
	@scripts/test.sh

.PHONY: test-long
test-long: deps ## Run every suite at full size, fuzz 60 s a target; the report is docs/reports/test-long.txt
	@scripts/test-long.sh

.PHONY: fuzz
fuzz: ## Fuzz: FUZZ=regexp chooses targets, FUZZTIME=30s is the time for each
	@scripts/fuzz.sh '$(strip $(FUZZTIME))' '$(strip $(FUZZ))'

.PHONY: bench
bench: ## Compare with the peers, an hour; less with ARGS='-sizes hot,1e5 -rounds 1' (bench/README.md)
	@cd bench && GOWORK=off go build -o ../bin/bench .
	@bin/bench $(ARGS)

.PHONY: microbench
microbench: ## Run the Go benchmarks into dist/bench.txt: BENCH=regexp, COUNT=6; OLD=file compares with an earlier one
	@mkdir -p dist
	go test -run='^$$' -bench='$(strip $(BENCH))' -count=$(strip $(COUNT)) work | tee dist/bench.txt
	@"$$(scripts/tool.sh benchstat)" $(OLD) dist/bench.txt

.PHONY: mutate
mutate: ## See whether tests fail on small changes to the code, an hour or two; less with ARGS='-sample 20 ./memstore'
	@scripts/mutate.sh $(ARGS)

.PHONY: cover
cover: ## Measure coverage into dist/cover.html
	@mkdir -p dist
	go test -coverprofile=dist/cover.out work
	go tool cover -html=dist/cover.out -o dist/cover.html
	@go tool cover -func=dist/cover.out | tail -n 1

.PHONY: clean
clean: ## Remove what make has made in this folder
	rm -rf bin dist
