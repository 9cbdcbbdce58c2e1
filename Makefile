# The commands of this tree. They are thin: CMake presets, ctest and the scripts of tools/ do the work.
#
#   JOBS=N        how many compilers run at once (all processors this process may use)
#   SETUP=no      do not install anything; take what is there
SHELL := /bin/bash
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)
export CTEST_OUTPUT_ON_FAILURE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

ifeq ($(SETUP),no)
setup_for = @true
else
setup_for = @tools/setup.sh $(1)
endif

# Configures once; ninja does it again whenever a CMake file or the set of sources changes.
configure = @test -f build/build.ninja || cmake --preset release

.PHONY: help setup setup-build build wheel demo test test-wheel test-long test-frameworks bench sanitize fuzz arm64 \
  format lint clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## install what building and testing need (tells the size first)
	$(call setup_for,build test)

setup-build:
	$(call setup_for,build)

build: setup-build  ## build/unstarve
	$(configure)
	@cmake --build build --target unstarve -j $(JOBS)

wheel: setup-build  ## dist/unstarve-*.whl with the program, its modules and shared libraries
	@JOBS=$(JOBS) tools/wheel.sh

demo: build  ## three minutes: two ladders and an HTML report
	@tools/demo.sh

test: setup  ## build everything and run every test
	$(configure)
	@cmake --build build -j $(JOBS)
	@ctest --preset release

test-wheel: wheel  ## build the wheel and test it in new environments
	@.venv/bin/python -m pytest -q -p no:cacheprovider tests/wheel

test-long: setup  ## the tests that take minutes each, those of arm64 at their end
	$(configure)
	@cmake --build build -j $(JOBS)
	@ctest --preset release -C long -R '[.]long$$'
	@$(MAKE) arm64

test-frameworks: setup  ## Lightning, Hugging Face, JAX, TensorFlow: their tests, in an environment of their own (3.5 GB)
	$(configure)
	@cmake --build build --target unstarve --target _core -j $(JOBS)
	@tools/test_frameworks.sh build

bench: build  ## compare with other loaders side by side: make bench [ONLY=regex]
	@cmake --build build --target unstarve_peer_bench -j $(JOBS)
	@if ninja -C build -t targets all | grep -q 'tests/tools/remote_probe:'; then cmake --build build --target tests/tools/remote_probe -j $(JOBS); fi
	@.venv/bin/python bench/run.py --only '$(ONLY)'

sanitize: setup  ## tests and fuzz corpora under ASan+UBSan, threads under TSan
	@JOBS=$(JOBS) tools/sanitize.sh

fuzz:  ## a minute of libFuzzer per target: make fuzz [ONLY=regex] [SECONDS_EACH=60] [MODE=fuzz-guard]
	$(call setup_for,build dev)
	@JOBS=$(JOBS) ONLY='$(ONLY)' MODE='$(MODE)' tools/fuzz.sh $(or $(SECONDS_EACH),60)

arm64:  ## compile the SIMD folders for 64-bit ARM and run their tests under emulation
	$(call setup_for,build dev)
	@JOBS=$(JOBS) tools/arm64.sh

format:  ## rewrite the sources by clang-format
	$(call setup_for,lint)
	@tools/format.sh

lint:  ## clang-tidy, format, length of lines and layers, without changing anything: make lint [ONLY=regex]
	$(call setup_for,build lint)
	@JOBS=$(JOBS) ONLY='$(ONLY)' tools/lint.sh

clean:  ## remove every build folder; .venv stays
	@rm -rf build build-debug build-light build-asan build-tsan build-fuzz build-fuzz-guard build-lint build-arm64 \
	  build-wheel* dist
