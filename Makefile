# The commands of this repository. CMake presets, ctest and the scripts in tools/ do the work.
#
#   JOBS=N        number of concurrent compiler processes (default: all CPUs that this process may use)
#   SETUP=no      install nothing; use the installed packages
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

# Configures once; ninja configures again when a CMake file or the set of sources changes.
configure = @test -f build/build.ninja || cmake --preset release

.PHONY: help setup setup-build build python wheel demo test test-wheel test-long test-frameworks bench sanitize fuzz \
  arm64 check-cuda-torch format lint clean

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## install the packages for building and testing (prints the download size first)
	$(call setup_for,build test)

setup-build:
	$(call setup_for,build)

build: setup-build  ## build the program build/unstarve
	$(configure)
	@cmake --build build --target unstarve -j $(JOBS)

python: setup-build  ## build the Python package build/python/unstarve, for PYTHONPATH=build/python
	$(configure)
	@cmake --build build --target _core -j $(JOBS)

wheel: setup-build  ## build dist/unstarve-*.whl with the program, its modules and shared libraries
	@JOBS=$(JOBS) tools/wheel.sh

demo: setup-build  ## compare with torch's DataLoader, tune twice and write an HTML report, in about four minutes
	$(configure)
	@cmake --build build --target unstarve --target _core -j $(JOBS)
	@tools/demo.sh

test: setup  ## build everything and run the tests, except the long ones
	$(configure)
	@cmake --build build -j $(JOBS)
	@ctest --preset release

test-wheel: setup wheel  ## build the wheel and test it in new environments
	@.venv/bin/python -m pytest -q -p no:cacheprovider tests/wheel

test-long: setup  ## run the tests that take minutes each, and those of arm64
	$(configure)
	@cmake --build build -j $(JOBS)
	@ctest --preset release -C long -R '[.]long$$'
	@$(MAKE) arm64

test-frameworks: setup  ## run the tests with Lightning, JAX, TensorFlow, timm, DALI ... in other environments (10 GB)
	$(configure)
	@cmake --build build --target unstarve --target _core -j $(JOBS)
	@tools/test_frameworks.sh build

bench: setup build  ## compare with other loaders in interleaved runs: make bench [ONLY=regex]
	@cmake --build build --target unstarve_peer_bench -j $(JOBS)
	@if ninja -C build -t targets all | grep -q 'tests/tools/remote_probe:'; then \
	  cmake --build build --target tests/tools/remote_probe -j $(JOBS); fi
	@.venv/bin/python bench/run.py --only '$(ONLY)'

sanitize: setup  ## run tests and fuzz corpora under ASan and UBSan, threaded tests under TSan
	@JOBS=$(JOBS) tools/sanitize.sh

fuzz:  ## run libFuzzer for a minute per target: make fuzz [ONLY=regex] [SECONDS_EACH=60] [MODE=fuzz-guard]
	$(call setup_for,build dev)
	@JOBS=$(JOBS) ONLY='$(ONLY)' MODE='$(MODE)' tools/fuzz.sh $(or $(SECONDS_EACH),60)

check-cuda-torch:  ## compile and link with torch 2.11.0 for CUDA 13 in an environment of its own (6 GB)
	$(call setup_for,build)
	@JOBS=$(JOBS) tools/check_cuda_torch.sh

arm64:  ## compile the SIMD folders for 64-bit ARM and run their tests under emulation
	$(call setup_for,build dev)
	@JOBS=$(JOBS) tools/arm64.sh

format:  ## format the sources with clang-format
	$(call setup_for,lint)
	@tools/format.sh

lint:  ## check layers, words, line lengths, format and clang-tidy without changing files: make lint [ONLY=regex]
	$(call setup_for,build lint)
	@JOBS=$(JOBS) ONLY='$(ONLY)' tools/lint.sh

clean:  ## remove all build folders, but not .venv
	@rm -rf build build-debug build-light build-asan build-tsan build-fuzz build-fuzz-guard build-lint build-arm64 \
	  build-cuda-torch build-wheel* dist
