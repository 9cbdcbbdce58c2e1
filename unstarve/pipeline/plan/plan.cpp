#include "unstarve/pipeline/plan/plan.h"

#include <algorithm>
#include <iterator>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/plan/sample_extent.h"

namespace unstarve {

const ScheduleStage& Plan::stage(std::uint32_t epoch) const {
  const auto after = std::upper_bound(stages.begin(), stages.end(), epoch,
                                      [](std::uint32_t e, const ScheduleStage& stage) { return e < stage.from_epoch; });
  return *std::prev(after);
}

Size Plan::sample_size() const {
  if (spec.batch.pad.to == PadTo::kSize) return spec.batch.pad.size;
  Size largest = stages.front().sizes.back();
  const auto enlarge = [&](Size by) {
    largest.width = std::max(largest.width, by.width);
    largest.height = std::max(largest.height, by.height);
  };
  if (padded()) {
    enlarge(facts.largest_output);
  } else {
    for (const ScheduleStage& each : stages) enlarge(each.sizes.back());
  }
  return largest;
}

Size Plan::size_at(std::uint32_t epoch) const {
  return padded() || stages.size() == 1 ? sample_size() : stage(epoch).sizes.back();
}

const DecodeStep* decode_step(const Plan& plan) {
  if (const auto* const both = find_step<DecodeResizeStep>(plan)) return &both->decode;
  return find_step<DecodeStep>(plan);
}

DecodeStep* decode_step(Plan& plan) { return const_cast<DecodeStep*>(decode_step(std::as_const(plan))); }

CacheWhat cached(const Plan& plan) {
  if (find_step<CacheLookupStep>(plan) != nullptr) return CacheWhat::kPixels;
  const auto* const read = find_step<ReadStep>(plan);
  return read != nullptr && read->cached ? CacheWhat::kEncoded : CacheWhat::kNothing;
}

bool only_resizes(const Plan& plan) {
  return !plan.spec.operations.empty() && std::all_of(plan.stages.begin(), plan.stages.end(), [](const auto& stage) {
    const auto to = stage.operations[0]->only_resizes(stage.sizes[0]);
    return to && to->size == stage.sizes[1];
  });
}

bool uses_scan_index(const Plan& plan) {
  const DecodeStep* const decode = decode_step(plan);
  return decode != nullptr && decode->index == ScanIndexUse::kUse;
}

std::uint64_t batch_bytes(const Plan& plan) {
  const StoreStep& store = plan.store();
  const std::size_t pixels = Storer(store.format).sample_bytes(plan.sample_size());
  // Targets, label, id, number in the run, whether the sample is good.
  const std::size_t sample = pixels + plan.target_classes() * sizeof(float) + sizeof(std::int64_t) +
                             2 * sizeof(std::uint64_t) + 1 + sizeof(PixelExtent) +
                             (store.files ? sizeof(FileExtent) : 0);
  return static_cast<std::uint64_t>(plan.spec.batch.size) * sample + (plan.padded() ? pixels : 0);
}

std::vector<BatchField> batch_fields(const Plan& plan) {
  const StoreFormat& format = plan.store().format;
  const Size size = plan.sample_size();
  const std::size_t batch = plan.spec.batch.size, width = size.width, height = size.height;
  std::vector<BatchField> fields{{"image", std::string(name_of(format.type)), {batch, height, width, kChannels}},
                                 {"label", "int64", {batch}},
                                 {"id", "uint64", {batch}}};
  if (format.layout == Layout::kNchw) fields[0].shape = {batch, kChannels, height, width};
  if (plan.target_classes() > 0) fields.push_back({"target", "float32", {batch, plan.target_classes()}});
  return fields;
}

}  // namespace unstarve
