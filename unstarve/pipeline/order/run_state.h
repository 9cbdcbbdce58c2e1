#pragma once
// Where a run stands, as the text that checkpoints and users keep, and back: JSON, under 1 KB but for the bits.
//
//   {"version": 1, "epoch": 3, "samples": 51200, "seed": 0, "shuffle": true, "dataset": 1281167,
//    "data": "5be1...",                        which data they are (storage/data_identity.h), 16 digits
//    "window": "gAE=",                         bits (bits_text.h) of samples behind, which were used: relaxed order
//    "order": {"window": 4096, ...},           settings of the order where they are not the usual ones
//    "mix": ...,                               of a mixture (mixture_state.h)
//    "rank": 0, "world": 2, "batch": 32, "drop_last": true, "rank_samples": 640, "rank_window": "gAE="}
//
// `samples` of the epoch, counted over all ranks, were used: any ranks, threads and batches go on from there. The last
// line stands in relaxed order of several ranks alone, where `samples` is how the epoch was dealt out and each rank
// knows only what it gave itself; together the states of all ranks say where the run stands.
//
// Threads: immutable. Failure: Error(kArgument) for a text that is no state, one of other data or of another order,
//          with what was found and what was expected.
// Cost:    the constructor looks at every sample of a filtered set; text() and start() are O(1) but for relaxed order.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// Where a run goes on.
struct RunStart {
  Position at;                            // its batch is 0
  std::vector<MixtureStretch> stretches;  // of OrderBasis
  // What batch.bucket.run has to be, for the samples of the epoch are in the buckets of the run that began it; 0: what
  // it is.
  std::uint64_t bucket_run = 0;
};

class RunState {
 public:
  // `set`: what choose_samples() gives of `spec`. `data`: data_identity() of what it is of; 0: not known, and no state
  // is refused for it. States of earlier versions have none and are taken as they are. Throws as Order.
  RunState(const PipelineSpec& spec, std::shared_ptr<const SampleSet> set, std::uint64_t data = 0);

  // Samples of an epoch, of all ranks.
  [[nodiscard]] std::uint64_t length() const { return order_.length(); }
  // Of a run from its beginning; none where nothing is mixed by weights.
  [[nodiscard]] std::vector<MixtureStretch> first_stretches() const;

  // `progress`: Loader::progress(), of a loader that runs over `stretches`.
  [[nodiscard]] std::string text(const RankProgress& progress, std::span<const MixtureStretch> stretches) const;
  // `states`: one that any rank took in exact order, or those of all ranks.
  [[nodiscard]] RunStart start(std::span<const std::string> states) const;

 private:
  [[nodiscard]] nlohmann::ordered_json settings() const;
  // Throws unless the state is of these data and this order; what bucket_run has to be.
  std::uint64_t check(const nlohmann::ordered_json& state) const;
  [[nodiscard]] Position position(std::span<const nlohmann::ordered_json> states) const;

  OrderSpec spec_;
  BatchSpec batch_;
  bool relaxed_;
  Order order_;
  std::uint64_t records_;
  std::uint64_t data_;
  std::uint64_t fingerprint_ = 0;  // of the set; 0 where it is all records
  std::vector<double> weights_;    // of the sources of a mixture
  std::vector<std::vector<double>> earlier_;
};

}  // namespace unstarve
