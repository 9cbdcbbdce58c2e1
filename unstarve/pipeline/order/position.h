#pragma once
// A sample of a run, where a run starts, and on what its order is based in addition to the spec. Plain data.

#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/pipeline/order/mixture.h"

namespace unstarve {

class SampleSet;

struct Sample {
  std::uint64_t id = 0;
  std::uint32_t draw = 0;  // key of its random streams
  friend bool operator==(const Sample&, const Sample&) = default;
};

// The start of a run in the endless sequence of epochs.
struct EpochPosition {
  std::uint32_t epoch = 0;
  std::uint64_t batch = 0;  // counted from `offset`
  // Samples of the epoch, of all ranks, that were already used, possibly by other ranks in other batches.
  std::uint64_t offset = 0;
  // In relaxed order: samples after `offset` that were also used. Bit i is sample offset + i of the epoch.
  std::vector<bool> used{};
  friend bool operator==(const EpochPosition&, const EpochPosition&) = default;
};

// From `epoch` on, epochs have only the first part of their samples.
struct EpochShare {
  std::uint32_t epoch = 0;
  double share = 1;  // above 0, up to 1; rounded down to full batches of all ranks, at least one
  friend bool operator==(const EpochShare&, const EpochShare&) = default;
};

// Inputs of an order in addition to the spec.
struct OrderBasis {
  std::shared_ptr<const SampleSet> samples;  // null: as selected by the spec
  std::vector<MixtureStretch> stretches;     // of a resumed mixture; empty: its weights apply from the beginning
  std::vector<EpochShare> shares{};          // by ascending epochs, the first one 0; empty: whole epochs
};

}  // namespace unstarve
