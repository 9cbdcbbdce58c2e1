#pragma once
// What `doctor` examines: the build, the machine, its devices, and the Python packages that load images.
//
// Threads: values. Failure: read_python_facts() does not fail; without Python its facts are empty.

#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/device/device.h"
#include "unstarve/device/nvml.h"
#include "unstarve/observe/machine.h"

namespace unstarve {

// Versions of the program and its libraries, from libtorch_facts() (train) and arrow_facts() (storage).
struct BuildFacts {
  std::string version;   // of unstarve
  std::string compiler;  // "gcc 12.2.0"
  std::string libtorch;  // "2.13.0+cpu"; empty without libtorch
  bool libtorch_cuda = false;
  std::string libtorch_cpu;      // instruction sets of its operators: "AVX512", "AVX2", "DEFAULT"; empty if unknown
  std::string arrow;             // "26.0.1"; empty without Arrow
  std::string libtorch_problem;  // why libtorch cannot be loaded by a build with libtorch; else empty
  std::string arrow_problem;     // why Arrow cannot be loaded by a build with Parquet support; else empty
};

// A Python library whose code exists once per instruction set.
struct PythonLibrary {
  std::string name;          // "NumPy", "OpenCV"
  std::string version;       // "2.4.6"
  std::string instructions;  // those that it uses on this CPU, as it names them: "X86_V2 X86_V3", "SSE SSE2 AVX2"
  std::string package;       // on PyPI
  std::string variable;      // of the environment, that switches instruction sets off
};

// Of the interpreter that python_interpreter() names.
struct PythonFacts {
  std::string interpreter;                 // its path; empty: it cannot be started, and the other facts are unknown
  std::string version;                     // "3.11.2"
  std::string pillow;                      // "12.0.0"; empty if it is not installed
  bool pillow_simd = false;                // the fork with vector instructions
  bool pillow_turbo = false;               // decodes JPEG by libjpeg-turbo
  std::vector<PythonLibrary> libraries{};  // those installed that name their instruction sets
};

struct DoctorFacts {
  BuildFacts build;
  MachineFacts machine;
  DeviceReport devices;
  GpuStates gpus;
  PythonFacts python;
  int uring_error = 0;  // errno of storage's function of that name
};

// Starts the interpreter, which imports Pillow, NumPy and OpenCV: 0.1 to 0.5 s.
[[nodiscard]] PythonFacts read_python_facts(const std::filesystem::path& interpreter);

}  // namespace unstarve
