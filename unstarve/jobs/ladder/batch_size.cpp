#include <fmt/format.h>

#include "unstarve/jobs/ladder/rung.h"

// Larger batches: fewer launches and optimiser steps per sample, larger matrix products.
namespace unstarve {
namespace {

// Larger batches lose accuracy at equal epochs on small datasets and use too much memory with large images.
constexpr int kLargest = 1024;
constexpr std::uint64_t kBatchesPerEpoch = 8;

bool fits(const RungContext& context, int batch) {
  return batch <= kLargest && static_cast<std::uint64_t>(batch) * kBatchesPerEpoch <= context.samples;
}

std::string not_applicable(const RungContext& context, const Settings& current) {
  if (!context.has_network()) return "the time per sample of an emulated accelerator does not depend on the batch size";
  if (!fits(context, current.pipeline.batch.size * 2))
    return fmt::format("{} samples are fewer than {} batches of {} per epoch", context.samples, kBatchesPerEpoch,
                       current.pipeline.batch.size * 2);
  return {};
}

std::vector<Candidate> candidates(const RungContext& context, const Settings& current) {
  std::vector<Candidate> list;
  // Multiples of 8 suit matrix units.
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
