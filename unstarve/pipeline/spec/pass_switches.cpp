#include "unstarve/pipeline/spec/pass_switches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr std::array kSwitches{
    PassSwitch{"filter_before_decode",
               "decides by the index and the headers which samples take part; without, each image is decoded first"},
    PassSwitch{"filter_fusion", "decides all conditions of a filter at once; without, each by a visit of its own"},
    PassSwitch{"dead_field_removal", "reads image and label of the records, no other columns"},
    PassSwitch{"interleave", "several shards at once; never needed, records are read by their places"},
    PassSwitch{"cache", "keeps records, or pixels before the first random operation"},
    PassSwitch{"crop_into_resize", "resizes only to the part that the next operation reads"},
    PassSwitch{"crop_into_decode", "decodes only the part that the first operation reads"},
    PassSwitch{"scale_into_decode", "decodes JPEG at a reduced scale where the result is resized further",
               "photographs differ by less than 6 of 255 on average, 20 in the worst, and show less than a pixel more "
               "on each side"},
    PassSwitch{"resize_into_decode", "resizes rows as they are decoded"},
    PassSwitch{"scan_index", "remembers where the rows of a JPEG begin, and decodes crops from there"},
    PassSwitch{"operation_fusion", "crops, pads, mirrors and changes colours without writing pixels"},
    PassSwitch{"batch_fusion", "writes samples into the batch instead of collecting them"},
    PassSwitch{"normalise_on_device", "sends uint8 to a device that normalises and casts",
               "a value is off by at most 2^-20 of the larger of |pixel / (255 std)| and |mean / std|"},
    PassSwitch{"read_ahead", "reads records before the workers ask for them"},
};

}  // namespace

std::span<const PassSwitch> pass_switches() { return kSwitches; }

bool is_switched_off(const PipelineSpec& spec, std::string_view pass) {
  const auto found = spec.passes.find(std::string(pass));
  return found != spec.passes.end() && !found->second;
}

void check_pass_switches(const PipelineSpec& spec) {
  for (const auto& entry : spec.passes) {
    const std::string& name = entry.first;
    if (std::any_of(kSwitches.begin(), kSwitches.end(), [&](const PassSwitch& row) { return row.name == name; }))
      continue;
    std::string known;
    for (const PassSwitch& row : kSwitches) known.append(known.empty() ? "" : ", ").append(row.name);
    throw Error(ErrorKind::kArgument, fmt::format("passes.{}: there is no such pass, expected one of {}", name, known));
  }
}

}  // namespace unstarve
