#include "unstarve/jobs/doctor/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

constexpr std::string_view kInstallTorch = "pip install --force-reinstall torch";

void check_instructions(const MachineFacts& machine, DoctorFindings& findings) {
  if (machine.instruction_sets.empty()) return;  // unknown
  if (!machine.has("avx2") && !machine.has("neon")) {
    findings.push_back({"instructions", "the CPU has neither AVX2 nor NEON",
                        "image operations are several times slower than on a CPU with AVX2 or NEON",
                        "virt-xml DOMAIN --edit --cpu host-passthrough   (on the host of a virtual machine; others "
                        "require another CPU)"});
  }
  if (!machine.has("avx512_bf16") && !machine.has("amx_bf16") && !machine.has("neon_bf16")) {
    findings.push_back({"bfloat16", "the CPU has no bfloat16 instructions",
                        "mixed precision on the CPU is emulated and slower: train in float32",
                        "unstarve train DATA --precision float32"});
  }
}

// The operators of libtorch exist once per instruction set; a build or $ATEN_CPU_CAPABILITY may lack the best one.
void check_torch_instructions(const BuildFacts& build, const MachineFacts& machine, DoctorFindings& findings) {
  if (build.libtorch_cpu.empty() || !machine.has("avx2")) return;
  const bool used = build.libtorch_cpu == "AVX512" || (build.libtorch_cpu == "AVX2" && !machine.has("avx512"));
  if (used) return;
  findings.push_back({"torch instructions",
                      fmt::format("the operators of libtorch use {}, but the CPU has {}", build.libtorch_cpu,
                                  machine.has("avx512") ? "AVX-512" : "AVX2"),
                      "training on the CPU is slower than it could be: remove the setting, or install another build",
                      fmt::format("unset ATEN_CPU_CAPABILITY   (not set: {})", kInstallTorch)});
}

void check_pillow(const PythonFacts& python, const MachineFacts& machine, DoctorFindings& findings) {
  if (python.pillow.empty()) return;
  const std::string name = fmt::format("Pillow {} of {}", python.pillow, python.interpreter);
  if (!python.pillow_turbo) {
    findings.push_back({"pillow", name + " decodes JPEG without libjpeg-turbo",
                        "programs that use it decode without vector instructions; the wheels of Pillow have "
                        "libjpeg-turbo, and unstarve does not use Pillow",
                        fmt::format("{} -m pip install --force-reinstall --only-binary :all: pillow",
                                    shell_quoted(python.interpreter))});
  }
  if (!python.pillow_simd && machine.has("avx2")) {
    findings.push_back({"pillow", name + " resizes without AVX2",
                        "programs that use it resize more slowly: replace it with pillow-simd, which is compiled on "
                        "this machine and requires the headers of libjpeg and zlib, or replace Image.open() and "
                        "resize() with un.decode() and un.resize(); loaders of unstarve do not use Pillow",
                        fmt::format("{0} -m pip uninstall --yes pillow && CC=\"cc -mavx2\" {0} -m pip install "
                                    "--no-binary pillow-simd pillow-simd",
                                    shell_quoted(python.interpreter))});
  }
}

// NumPy 2.4 has AVX2 in its set X86_V3.
void check_python_libraries(const PythonFacts& python, const MachineFacts& machine, DoctorFindings& findings) {
  if (!machine.has("avx2")) return;
  for (const PythonLibrary& library : python.libraries) {
    const auto uses = [&](const char* set) { return library.instructions.find(set) != std::string::npos; };
    if (library.instructions.empty() || uses("AVX2") || uses("X86_V3")) continue;
    findings.push_back({"python libraries",
                        fmt::format("{} {} of {} uses {}, but the CPU has AVX2", library.name, library.version,
                                    python.interpreter, library.instructions),
                        "operations on images and arrays are slower than they could be: remove the setting, or "
                        "install the wheel of PyPI, which has code for AVX2",
                        fmt::format("unset {}   (not set: {} -m pip install --force-reinstall --only-binary :all: {})",
                                    library.variable, shell_quoted(python.interpreter), library.package)});
  }
}

void check_frequency(const MachineFacts& machine, DoctorFindings& findings) {
  const auto has = [](const std::string& values, const char* value) { return values.find(value) != std::string::npos; };
  if (!machine.energy_preference.empty()) {
    if (has(machine.energy_preference, "power")) {  // also balance_power
      findings.push_back({"governor", "the CPUs prefer to save energy: " + machine.energy_preference,
                          "cores may run below their full frequency, and measurements vary",
                          "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/"
                          "energy_performance_preference"});
    }
  } else if (has(machine.governor, "powersave") || has(machine.governor, "conservative")) {
    findings.push_back({"governor", "the frequency governor is " + machine.governor,
                        "cores may run below their full frequency, and measurements vary",
                        "sudo cpupower frequency-set -g performance"});
  }
  if (machine.turbo_off) {
    findings.push_back({"turbo", "frequencies above the nominal one are switched off",
                        "cores run below their full frequency",
                        "echo 0 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo   (other drivers: echo 1 | "
                        "sudo tee /sys/devices/system/cpu/cpufreq/boost)"});
  }
}

// The fix for an error of io_uring_setup(2).
std::string uring_remedy(int error) {
  switch (error) {
    case EPERM:
      return "sudo sysctl kernel.io_uring_disabled=0   (docker: a seccomp profile that allows io_uring_setup)";
    case ENOSYS:
      return "a kernel with io_uring, Linux 5.6 or newer   (not available in gVisor or with seccomp profiles "
             "that return ENOSYS)";
    case ENOMEM: return "ulimit -l unlimited   (docker run --ulimit memlock=-1)";
    case EMFILE: return "ulimit -n 65536   (docker run --ulimit nofile=65536)";
    default: return "sysctl kernel.io_uring_disabled   (0: allowed; docker: a seccomp profile may forbid it)";
  }
}

void check_reading(int uring_error, DoctorFindings& findings) {
  if (uring_error == 0) return;
  findings.push_back(
      {"io_uring", std::string("the kernel or the container does not allow io_uring: ") + std::strerror(uring_error),
       "uncached files are read by a thread pool instead, which uses more CPU time", uring_remedy(uring_error)});
}

void check_modules(const BuildFacts& build, DoctorFindings& findings) {
  if (!build.libtorch_problem.empty()) {
    findings.push_back({"libtorch", "libtorch cannot be loaded: training is unavailable", build.libtorch_problem,
                        "pip install 'unstarve[torch]'"});
  } else if (build.libtorch.empty()) {
    findings.push_back({"libtorch", "this build has no libtorch",
                        "networks cannot be trained or measured; data, loading and emulated accelerators work",
                        "make setup build"});
  }
  if (!build.arrow_problem.empty())
    findings.push_back({"parquet", "Arrow cannot be loaded: Parquet is unavailable", build.arrow_problem,
                        "pip install 'unstarve[parquet]'"});
}

}  // namespace

void find_library_problems(const DoctorFacts& facts, DoctorFindings& findings) {
  check_torch_instructions(facts.build, facts.machine, findings);
  check_pillow(facts.python, facts.machine, findings);
  check_python_libraries(facts.python, facts.machine, findings);
}

DoctorFindings find_problems(const DoctorFacts& facts) {
  DoctorFindings findings;
  find_gpu_problems(facts, findings);
  check_modules(facts.build, findings);
  find_core_problems(facts.machine, std::max(facts.devices.gpus.size(), facts.gpus.gpus.size()), findings);
  check_instructions(facts.machine, findings);
  find_library_problems(facts, findings);
  find_memory_problems(facts.machine, findings);
  check_frequency(facts.machine, findings);
  check_reading(facts.uring_error, findings);
  return findings;
}

}  // namespace unstarve
