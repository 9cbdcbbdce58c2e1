#include "unstarve/pipeline/order/output_sizes.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "unstarve/core/error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/order/sample_facts.h"

namespace unstarve {
namespace {

// Records per request of sizes.
constexpr std::uint64_t kChunk = 8192;

}  // namespace

std::vector<Size> output_sizes(const PipelineSpec& spec, const SampleSet& samples, const Dataset& dataset, int threads,
                               const std::function<void()>& check) {
  if (spec.batch.pad.to != PadTo::kLargest) return {};
  std::vector<std::unique_ptr<Operation>> operations;
  for (const OpSpec& operation : spec.operations)
    operations.push_back(make_operation(at_epoch(operation, 0)));  // the plan rejects schedules that change sizes
  if (std::any_of(operations.begin(), operations.end(), [](const auto& o) { return o->fixed_output(); })) return {};
  if (samples.records() > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::kArgument, "batch.pad.to: largest supports up to 2^32 records, found " +
                                          std::to_string(samples.records()) + "; expected pad.to: size, or fewer");
  std::vector<Size> sizes(static_cast<std::size_t>(samples.records()));
  const SampleFacts facts(dataset, threads, check);
  for (std::uint64_t first = 0; first < samples.size(); first += kChunk) {
    std::vector<std::uint32_t> ids;
    for (std::uint64_t index = first; index < std::min(samples.size(), first + kChunk); ++index)
      ids.push_back(static_cast<std::uint32_t>(samples.id(index)));
    const auto stored = facts.sizes(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!stored[i]) continue;
      try {
        Size size = *stored[i];
        for (const auto& operation : operations) size = operation->output_size(size);
        sizes[ids[i]] = size;
      } catch (const Error&) {
        continue;  // the error policy applies when the sample is loaded
      }
    }
  }
  return sizes;
}

}  // namespace unstarve
