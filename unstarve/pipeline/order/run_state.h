#pragma once
// Converts a resume position to JSON text for checkpoints, and back. Under 1 KB without the bit lists.
//
//   {"version": 1, "epoch": 3, "samples": 51200, "seed": 0, "shuffle": true, "dataset": 1281167,
//    "data": "5be1...",                        data_identity() of the dataset, 16 digits
//    "window": "gAE=",                         relaxed order: bits (core/base64.h) of later samples that were used
//    "order": {"window": 4096, ...},           settings of the order that differ from their defaults
//    "mix": ...,                               stretches of a mixture (mixture_state.h)
//    "rank": 0, "world": 2, "batch": 32, "drop_last": true, "rank_samples": 640, "rank_window": "gAE="}
//
// `samples` is the number of used samples of the epoch, over all ranks; the run can resume with any number of ranks,
// threads and batch size. The last line is present only in relaxed order with several ranks: then `samples` is the
// start of the distribution to ranks, each rank knows only its own samples, and resuming requires the states of all
// ranks.
//
// Threads: immutable. Failure: Error(kArgument) for a text that is not a state, or a state of other data or of another
//          order.
// Cost:    the constructor visits every sample of a filtered set; text() and start() are O(1) except in relaxed order.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

struct RunStart {
  EpochPosition at;                       // the resume position; its batch is 0
  std::vector<MixtureStretch> stretches;  // for OrderBasis
  // The required value of batch.bucket.run, because the epoch began with this bucket size; 0: keep the present value.
  std::uint64_t bucket_run = 0;
};

class RunState {
 public:
  // `set`: choose_samples() of `spec`. `data`: data_identity() of the dataset; 0: unknown, the identity is not checked.
  // It is not checked either for states without one. Throws as Order.
  RunState(const PipelineSpec& spec, const std::shared_ptr<const SampleSet>& set, std::uint64_t data = 0);

  // Samples per epoch, of all ranks.
  [[nodiscard]] std::uint64_t length() const { return order_.length(); }
  // The stretches of a new run; empty without mixture weights.
  [[nodiscard]] std::vector<MixtureStretch> first_stretches() const;

  // `progress`: Loader::progress() of a loader with `stretches`.
  [[nodiscard]] std::string text(const RankProgress& progress, std::span<const MixtureStretch> stretches) const;
  // `states`: the state of any rank in exact order, or the states of all ranks.
  [[nodiscard]] RunStart start(std::span<const std::string> states) const;

 private:
  [[nodiscard]] nlohmann::ordered_json settings() const;
  // Throws unless the state matches data and order. Returns RunStart::bucket_run.
  std::uint64_t check(const nlohmann::ordered_json& state) const;
  [[nodiscard]] EpochPosition position(std::span<const nlohmann::ordered_json> states) const;

  OrderSpec spec_;
  BatchSpec batch_;
  bool relaxed_;
  Order order_;
  std::uint64_t records_;
  std::uint64_t data_;
  std::uint64_t fingerprint_ = 0;  // of the sample set; 0: all records
  std::vector<double> weights_;    // of the sources of a mixture
  std::vector<std::vector<double>> earlier_;
};

}  // namespace unstarve
