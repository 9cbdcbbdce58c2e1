#include <fmt/format.h>

#include "unstarve/jobs/ladder/rung.h"

// Larger batches: fewer launches and optimiser steps per sample, larger matrix products.
namespace unstarve {
namespace {

// Beyond these, accuracy suffers at equal epochs on small sets, and memory on large images.
constexpr int kLargest = 1024;
constexpr std::uint64_t kBatchesPerEpoch = 8;

bool fits(const RungContext& context, int batch) {
  return batch <= kLargest && static_cast<std::uint64_t>(batch) * kBatchesPerEpoch <= context.samples;
}

std::string not_applicable(const RungContext& context, const Settings& current) {
  if (!context.has_network()) return "an emulated accelerator takes the same time per sample at any batch";
  if (!fits(context, current.pipeline.batch.size * 2))
    return fmt::format("{} samples leave fewer than {} batches of {} per epoch", context.samples, kBatchesPerEpoch,
                       current.pipeline.batch.size * 2);
  return {};
}

std::vector<Candidate> candidates(const RungContext& context, const Settings& current) {
  std::vector<Candidate> list;
  // Multiples of 8, as matrix units want them.
  for (int batch = current.pipeline.batch.size * 2; fits(context, batch); batch *= 2) {
    Settings settings = current;
    set_batch(settings, batch);
    list.push_back({settings, fmt::format("batch {} -> {}", current.pipeline.batch.size, batch)});
  }
  return list;
}

}  // namespace

const Rung kBatchSizeRung{"batch size", true, false, not_applicable, candidates};

}  // namespace unstarve
