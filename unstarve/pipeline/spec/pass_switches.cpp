#include "unstarve/pipeline/spec/pass_switches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr std::array kSwitches{
    PassSwitch{"cache", "caches encoded records, or pixels before the first random operation"},
    PassSwitch{"crop_into_resize", "resizes only the region that the next operation reads"},
    PassSwitch{"crop_into_decode", "decodes only the region that the first operation reads"},
    PassSwitch{
        "scale_into_decode", "decodes JPEG at a reduced scale where the result is resized further",
        "photographs differ by less than 6 of 255 on average, 20 in the worst case, and show less than one pixel "
        "more on each side"},
    PassSwitch{"resize_into_decode", "resizes rows as they are decoded"},
    PassSwitch{"scan_index", "remembers the positions of MCU rows in a JPEG and decodes crops from there"},
    PassSwitch{"operation_fusion", "crops, pads, mirrors and changes colours without writing an image each"},
    PassSwitch{"normalise_on_device", "copies uint8 to a device that normalises and casts",
               "a value is off by at most 2^-20 of the larger of |pixel / (255 std)| and |mean / std|"},
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
    throw Error(ErrorKind::kArgument, fmt::format("passes.{}: unknown pass; expected one of {}", name, known));
  }
}

}  // namespace unstarve
