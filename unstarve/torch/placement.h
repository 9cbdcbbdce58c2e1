#pragma once
// Where and how the operators of a trainer run.
//
// Threads: any.

#include <torch/types.h>

#include "unstarve/ranks/ranks.h"
#include "unstarve/train/settings.h"

namespace unstarve {

struct Placement {
  torch::Device device;
  torch::ScalarType type;      // of autocast
  torch::MemoryFormat format;  // of images and of the weights of convolutions
  int threads;                 // within operators on the CPU

  // Sets device and number of threads for the calling thread. Trainers of one thread may differ, so each call of a
  // trainer begins with it.
  void use() const;
};

// With the device of the rank; ranks share the CPU cores. Throws as parse_device().
[[nodiscard]] Placement placement_of(const TrainSettings& settings, const Ranks& ranks);

}  // namespace unstarve
