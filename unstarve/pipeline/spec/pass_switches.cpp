#include "unstarve/pipeline/spec/pass_switches.h"

#include <algorithm>
#include <array>
#include <string>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

constexpr std::array kSwitches{
#define PASS(name, help, error) PassSwitch{#name, help, error},
#include "unstarve/pipeline/spec/pass_table.inl"
#undef PASS
};

}  // namespace

std::span<const PassSwitch> pass_switches() { return kSwitches; }

bool is_enabled(const PipelineSpec& spec, const PassSwitch& pass) {
  const auto found = spec.passes.find(std::string(pass.name));
  return found != spec.passes.end() ? found->second : pass.error.empty();
}

bool is_enabled(const PipelineSpec& spec, std::string_view pass) {
  return is_enabled(
      spec, *std::find_if(kSwitches.begin(), kSwitches.end(), [&](const PassSwitch& row) { return row.name == pass; }));
}

void check_pass_switches(const PipelineSpec& spec) {
  for (const auto& entry : spec.passes) {
    const std::string& name = entry.first;
    if (std::any_of(kSwitches.begin(), kSwitches.end(), [&](const PassSwitch& row) { return row.name == name; }))
      continue;
    std::string known;
    for (const PassSwitch& row : kSwitches) known.append(known.empty() ? "" : ", ").append(row.name);
    throw argument_error("passes.{}: unknown pass; expected one of {}", name, known);
  }
}

}  // namespace unstarve
