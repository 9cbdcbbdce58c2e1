#pragma once
// The bad samples of a training run: those of its training and of its evaluations, at the end of all ranks.
//
// Ownership: values. Threads: one at a time.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "unstarve/jobs/training/train_data.h"
#include "unstarve/pipeline/executor/bad_sample.h"
#include "unstarve/ranks/ranks.h"

namespace unstarve {

class Trainer;  // train/trainer.h

class BadSamples {
 public:
  enum class Of { kTraining, kValidation };
  void add(Of of, const std::vector<BadSample>& samples);
  [[nodiscard]] bool empty(Of of) const;
  // Adds those of the other ranks, which have the same `data`. All ranks call it. Throws as
  // Trainer::largest_of_ranks().
  void gather(Trainer& trainer, const Ranks& ranks, const TrainData& data);
  // Each sample once: first those of the training, by id.
  [[nodiscard]] std::vector<BadSample> list() const;

 private:
  std::map<std::pair<Of, std::uint64_t>, BadSample> samples_;
};

}  // namespace unstarve
