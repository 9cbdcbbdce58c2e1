#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/jobs/doctor.h"
#include "unstarve/observe/facts.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

using nlohmann::json;

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

std::vector<Fact> describe(const BuildFacts& build, const DeviceReport& devices) {
  std::string libtorch = build.libtorch.empty() ? "none" : build.libtorch;
  if (!build.libtorch.empty()) libtorch += build.libtorch_cuda ? ", with CUDA" : ", without CUDA";
  return {{"unstarve", build.version},
          {"compiler", build.compiler},
          {"libtorch", libtorch},
          {"Arrow, for Parquet", build.arrow.empty() ? "none" : build.arrow},
          {"CUDA", devices.cuda_in_build ? devices.cuda_runtime : "none"},
          {"driver for CUDA", devices.driver}};
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

}  // namespace

std::string to_json(const DoctorResult& result) {
  json gpus = json::array();
  for (const DeviceReport::Gpu& gpu : result.devices.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"memory_bytes", gpu.memory_bytes},
                    {"capability", fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor)}});
  }
  json findings = json::array();
  for (const DoctorFinding& finding : result.findings) {
    findings.push_back({{"topic", finding.topic},
                        {"found", finding.found},
                        {"advice", finding.advice},
                        {"command", text_or_null(finding.command)}});
  }
  const json all = {{"build",
                     {{"version", result.build.version},
                      {"compiler", result.build.compiler},
                      {"libtorch", text_or_null(result.build.libtorch)},
                      {"libtorch_cuda", result.build.libtorch_cuda},
                      {"arrow", text_or_null(result.build.arrow)},
                      {"cuda_runtime", text_or_null(result.devices.cuda_runtime)}}},
                    {"machine", json::parse(to_json(result.machine))},
                    {"devices",
                     {{"driver", text_or_null(result.devices.driver)},
                      {"reason", text_or_null(result.devices.reason)},
                      {"gpus", std::move(gpus)}}},
                    {"findings", std::move(findings)}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string to_text(const DoctorResult& result) {
  const std::vector<Fact> build = describe(result.build, result.devices);
  std::vector<Fact> machine = describe(result.machine);
  for (const DeviceReport::Gpu& gpu : result.devices.gpus) {
    machine.push_back({"GPU", fmt::format("{}, {}, compute capability {}.{}", gpu.name, format_bytes(gpu.memory_bytes),
                                          gpu.capability_major, gpu.capability_minor)});
  }
  const std::size_t width = std::max(name_width(build), name_width(machine));
  std::string text = "build\n";
  append_facts(build, width, text);
  text += "machine\n";
  append_facts(machine, width, text);
  text += result.findings.empty() ? "no problems found\n" : "problems\n";
  for (const DoctorFinding& finding : result.findings) {
    text += fmt::format("  {}: {}\n", finding.topic, printable(finding.found));
    text += fmt::format("    {}\n", printable(finding.advice));
    if (!finding.command.empty()) text += fmt::format("    $ {}\n", printable(finding.command));
  }
  return text;
}

}  // namespace unstarve
