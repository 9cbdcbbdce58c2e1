#include "unstarve/jobs/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/core/module_loader.h"
#include "unstarve/observe/facts.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/io/batch_reader.h"

namespace unstarve {
namespace {

nlohmann::json text_or_null(const std::string& text) { return text.empty() ? nlohmann::json() : nlohmann::json(text); }
template <class Number>
nlohmann::json positive_or_null(Number number) {
  return number > 0 ? nlohmann::json(number) : nlohmann::json();
}
nlohmann::json known_or_null(std::optional<bool> value) { return value ? nlohmann::json(*value) : nlohmann::json(); }

std::string pillow_text(const PythonFacts& python) {
  if (python.interpreter.empty()) return "";
  if (python.pillow.empty()) return "none";
  return fmt::format("{}{}, {}libjpeg-turbo", python.pillow, python.pillow_simd ? ", pillow-simd" : "",
                     python.pillow_turbo ? "" : "without ");
}

std::vector<Fact> describe(const DoctorFacts& facts) {
  const BuildFacts& build = facts.build;
  std::string libtorch = build.libtorch.empty() ? "none" : build.libtorch;
  if (!build.libtorch.empty()) libtorch += build.libtorch_cuda ? ", with CUDA" : ", without CUDA";
  if (!build.libtorch_cpu.empty()) libtorch += ", operators for " + build.libtorch_cpu;
  std::string python;
  if (!facts.python.interpreter.empty()) python = fmt::format("{}, {}", facts.python.version, facts.python.interpreter);
  std::vector<Fact> all{{"unstarve", build.version},
                        {"compiler", build.compiler},
                        {"libtorch", libtorch},
                        {"Arrow, for Parquet", build.arrow.empty() ? "none" : build.arrow},
                        {"CUDA", facts.devices.cuda_in_build ? facts.devices.cuda_runtime : "none"},
                        {"driver for CUDA", facts.devices.driver},
                        {"Python", python},
                        {"Pillow", pillow_text(facts.python)}};
  for (const PythonLibrary& library : facts.python.libraries)
    all.push_back({library.name, fmt::format("{}, {}", library.version, library.instructions)});
  return all;
}

std::string link_text(const GpuState& gpu) {
  if (gpu.link_generation == 0 || gpu.link_lanes == 0) return "";
  return fmt::format(", PCIe {} x{}", gpu.link_generation, gpu.link_lanes);
}

// By NVML if it is available, else by CUDA.
std::vector<Fact> describe_gpus(const DoctorFacts& facts) {
  std::vector<Fact> all;
  if (!facts.gpus.driver.empty()) all.push_back({"GPU driver", facts.gpus.driver});
  for (const GpuState& gpu : facts.gpus.gpus) {
    std::string text = gpu.name.empty() ? "not accessible" : gpu.name;
    if (gpu.memory_bytes > 0) text += ", " + format_bytes(gpu.memory_bytes);
    text += link_text(gpu);
    if (gpu.power_limit_w > 0) text += fmt::format(", {:.0f} W", gpu.power_limit_w);
    if (gpu.ecc.has_value()) text += *gpu.ecc ? ", ECC" : ", without ECC";
    all.push_back({"GPU", text});
  }
  if (!facts.gpus.gpus.empty()) return all;
  for (const DeviceReport::Gpu& gpu : facts.devices.gpus) {
    all.push_back({"GPU", fmt::format("{}, {}, compute capability {}.{}", gpu.name, format_bytes(gpu.memory_bytes),
                                      gpu.capability_major, gpu.capability_minor)});
  }
  return all;
}

std::size_t name_width(const std::vector<Fact>& facts) {
  std::size_t width = 0;
  for (const Fact& fact : facts) width = std::max(width, text_width(fact.name));
  return width;
}

void append_facts(const std::vector<Fact>& facts, std::size_t width, std::string& text) {
  for (const Fact& fact : facts) {
    if (!fact.value.empty()) text += fmt::format("  {}  {}\n", pad_right(fact.name, width), printable(fact.value));
  }
}

nlohmann::json json_of(const DeviceReport& devices) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const DeviceReport::Gpu& gpu : devices.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"memory_bytes", gpu.memory_bytes},
                    {"capability", fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor)}});
  }
  return {{"driver", text_or_null(devices.driver)}, {"reason", text_or_null(devices.reason)}, {"gpus", gpus}};
}

nlohmann::json json_of(const GpuState& gpu) {
  nlohmann::json slowdowns = nlohmann::json::array(), processes = nlohmann::json::array();
  for (const GpuSlowdown slowdown : gpu.slowdowns) slowdowns.push_back(to_string(slowdown));
  for (const GpuProcess& process : gpu.processes)
    processes.push_back({{"process", process.process}, {"memory_bytes", positive_or_null(process.memory_bytes)}});
  return {{"name", text_or_null(gpu.name)},
          {"pci_address", text_or_null(gpu.pci_address)},
          {"persistence", known_or_null(gpu.persistence)},
          {"link_generation", positive_or_null(gpu.link_generation)},
          {"link_generation_most", positive_or_null(gpu.link_generation_most)},
          {"link_lanes", positive_or_null(gpu.link_lanes)},
          {"link_lanes_most", positive_or_null(gpu.link_lanes_most)},
          {"performance_state", gpu.performance_state >= 0 ? nlohmann::json(gpu.performance_state) : nlohmann::json()},
          {"power_limit_w", positive_or_null(gpu.power_limit_w)},
          {"power_limit_default_w", positive_or_null(gpu.power_limit_default_w)},
          {"clock_mhz", positive_or_null(gpu.clock_mhz)},
          {"clock_most_mhz", positive_or_null(gpu.clock_most_mhz)},
          {"slowdowns", slowdowns},
          {"ecc", known_or_null(gpu.ecc)},
          {"memory_errors", gpu.memory_errors},
          {"memory_bytes", positive_or_null(gpu.memory_bytes)},
          {"memory_used_bytes", positive_or_null(gpu.memory_used_bytes)},
          {"processes", processes}};
}

nlohmann::json json_of(const GpuStates& states) {
  nlohmann::json gpus = nlohmann::json::array();
  for (const GpuState& gpu : states.gpus) gpus.push_back(json_of(gpu));
  return {{"driver", text_or_null(states.driver)}, {"problem", text_or_null(states.message)}, {"gpus", gpus}};
}

nlohmann::json json_of(const PythonFacts& python) {
  if (python.interpreter.empty()) return {};
  nlohmann::json libraries = nlohmann::json::array();
  for (const PythonLibrary& library : python.libraries) {
    libraries.push_back(
        {{"name", library.name}, {"version", library.version}, {"instructions", text_or_null(library.instructions)}});
  }
  return {{"interpreter", python.interpreter},     {"version", python.version},
          {"pillow", text_or_null(python.pillow)}, {"pillow_simd", python.pillow_simd},
          {"pillow_turbo", python.pillow_turbo},   {"libraries", std::move(libraries)}};
}

}  // namespace

std::string compiler_name() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

DoctorResult run_doctor(const BuildFacts& build) {
  DoctorResult result;
  DoctorFacts& facts = result.facts;
  facts.build = build;
  if (facts.build.compiler.empty()) facts.build.compiler = compiler_name();
  facts.machine = read_machine_facts();
  facts.devices = report_devices();
  facts.gpus = read_gpu_states();
  facts.python = read_python_facts(python_interpreter());
  facts.uring_error = uring_error();
  result.findings = find_problems(facts);
  return result;
}

std::string to_json(const DoctorResult& result) {
  const BuildFacts& build = result.facts.build;
  nlohmann::json findings = nlohmann::json::array();
  for (const DoctorFinding& finding : result.findings) {
    findings.push_back({{"topic", finding.topic},
                        {"found", finding.found},
                        {"advice", finding.advice},
                        {"command", text_or_null(finding.command)}});
  }
  const nlohmann::json all = {{"build",
                               {{"version", build.version},
                                {"compiler", build.compiler},
                                {"libtorch", text_or_null(build.libtorch)},
                                {"libtorch_cuda", build.libtorch_cuda},
                                {"libtorch_cpu", text_or_null(build.libtorch_cpu)},
                                {"arrow", text_or_null(build.arrow)},
                                {"cuda_runtime", text_or_null(result.facts.devices.cuda_runtime)}}},
                              {"machine", parse_json(to_json(result.facts.machine))},
                              {"devices", json_of(result.facts.devices)},
                              {"nvml", json_of(result.facts.gpus)},
                              {"python", json_of(result.facts.python)},
                              {"findings", std::move(findings)}};
  return json_text(all);
}

std::string to_text(const DoctorResult& result) {
  const std::vector<Fact> build = describe(result.facts);
  std::vector<Fact> machine = describe(result.facts.machine);
  for (Fact& gpu : describe_gpus(result.facts)) machine.push_back(std::move(gpu));
  const std::size_t width = std::max(name_width(build), name_width(machine));
  std::string text = "build\n";
  append_facts(build, width, text);
  text += "machine\n";
  append_facts(machine, width, text);
  text += result.findings.empty() ? "no problems found\n" : "problems\n";
  for (const DoctorFinding& finding : result.findings) {
    text += fmt::format("  {}: {}\n", finding.topic, printable(finding.found));
    text += fmt::format("    {}\n", printable(finding.advice));
    text += fmt::format("    $ {}\n", printable(finding.command));
  }
  return text;
}

}  // namespace unstarve
