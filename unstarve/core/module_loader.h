#pragma once
// Loads a module: a part of unstarve in a shared library of its own, because it needs the libraries of a Python
// package. Nothing else waits for those libraries or requires them (docs/decisions/0029-torch-module.md).
//
//   libunstarve_torch.so      training, import of models   libtorch of torch
//   libunstarve_arrow.so      Parquet                      Arrow C++ of pyarrow
//   libunstarve_openvino.so   inference                    OpenVINO of openvino
//   libunstarve_mpi.so        ranks                        MPI of the system
//
// libunstarve_cupti.so is another kind of module: CUDA loads it (diagnose/cupti/module.cpp).
//
//   package path ──▶ version of the package ──▶ its libraries ──▶ module ──▶ stamp ──▶ table of functions
//
// The first folder of the package path that has the package provides its libraries. If none has it, they are those of
// the module's run path, as in a source tree. The module is located by the run path of the program or the extension.
//
// Threads:   any. Ownership: modules and libraries are never unloaded, which libtorch does not support.
// Failure:   Error(kMissing) with the operation, what was found and the remedy: package or module missing, of another
//            version or build, or damaged.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace unstarve {

struct Module {
  const char* file;     // "libunstarve_torch.so"; with a slash: a path
  const char* entry;    // its only exported symbol: a function that returns the table
  const char* stamp;    // of this build; the first member of the table is the module's
  const char* package;  // "torch"; "": the libraries of the system, whose version does not matter
  const char* version;  // "2.13": supported are the versions that begin with these parts
  const char* extra;    // of `pip install 'unstarve[torch]'`; without a package: the Debian package of the libraries
  // Relative to the folder of packages, in the order of loading. The module is linked with libraries of these names.
  std::span<const char* const> libraries;
};

// The folders of Python packages, in the order of search. At the start those of the environment variable
// UNSTARVE_PACKAGES, separated by colons.
void set_package_path(std::vector<std::filesystem::path> folders);

// The Python interpreter of these packages. At the start that of the environment variable UNSTARVE_PYTHON, else that of
// the source tree of this build, else python3.
void set_python_interpreter(std::filesystem::path interpreter);
[[nodiscard]] std::filesystem::path python_interpreter();

// The path of a file in the run path of the program or the extension; empty if it is not there.
[[nodiscard]] std::filesystem::path find_module(const std::string& file);

// The table of the module. `operation` begins the messages: "train". Every call loads, so callers keep the result.
[[nodiscard]] const void* load_module(const Module& module, const std::string& operation);

}  // namespace unstarve
