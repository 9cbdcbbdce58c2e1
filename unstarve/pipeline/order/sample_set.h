#pragma once
// The samples selected for a run, and the groups from which they are drawn. Computed once before the run.
//
//   ids   | group 0: ids ascending | group 1: ids ascending | ...
//
// By default there is one group. The sources of a mixture and the classes of balanced sampling are groups with weights.
//
// Threads: immutable. Memory: a few bytes for all or the first N records, at most 4 bytes per sample (sample_ids.h);
//          plus 8 bytes per record of the dataset if sizes are needed.
// Failure: choose_samples() throws Error(kArgument), beginning with the node of the spec, if the spec does not fit the
//          dataset; Error(kInput) if no sample is left; and read errors if classes are balanced.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/size.h"
#include "unstarve/pipeline/order/sample_ids.h"
#include "unstarve/pipeline/order/shares.h"

namespace unstarve {

class Dataset;
struct PipelineSpec;

class SampleSet {
 public:
  // All records, in one group.
  explicit SampleSet(std::uint64_t records) : SampleSet({0, records}, {}) {}
  // All records in consecutive groups: group g is begin[g] .. begin[g + 1] - 1.
  SampleSet(std::vector<std::uint64_t> begin, std::vector<double> weights);
  // Some of `records` records: group g is ids[begin[g]] .. ids[begin[g + 1] - 1], ascending.
  SampleSet(std::uint64_t records, SampleIds ids, std::vector<std::uint64_t> begin, std::vector<double> weights);

  [[nodiscard]] std::uint64_t size() const { return begin_.back(); }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  // Whether the set is all records in storage order, without weights of their own.
  [[nodiscard]] bool everything() const { return ids_.as_stored() && size() == records_ && shares_.empty(); }
  [[nodiscard]] const SampleIds& ids() const { return ids_; }
  [[nodiscard]] const std::vector<std::uint64_t>& begin() const { return begin_; }  // begins of the groups, and the end
  [[nodiscard]] std::size_t groups() const { return begin_.size() - 1; }
  [[nodiscard]] std::uint64_t group_begin(std::size_t group) const { return begin_[group]; }
  [[nodiscard]] std::uint64_t group_size(std::size_t group) const { return begin_[group + 1] - begin_[group]; }
  // One per group if groups are drawn by weights; otherwise empty, and there is one group.
  [[nodiscard]] const std::vector<double>& weights() const { return weights_; }
  // Not empty if samples are drawn by weights of their own; there is one group then.
  [[nodiscard]] const Shares& shares() const { return shares_; }
  void set_shares(Shares shares) { shares_ = std::move(shares); }
  // Samples of the groups with a weight above 0.
  [[nodiscard]] std::uint64_t drawn() const;

  // Precondition: index < size().
  [[nodiscard]] std::uint64_t id(std::uint64_t index) const { return ids_[index]; }
  // The sample after `id` in its group; the first after the last. Precondition: the set contains `id`.
  [[nodiscard]] std::uint64_t next(std::uint64_t id) const;

  // A digest of ids, groups and shares, without weights of groups: equal for equal sets.
  [[nodiscard]] std::uint64_t fingerprint() const;

  // Explanations of the selection for users, one line each.
  std::vector<std::string> notes;
  // Output size of the operations for each selected record, by id; {0, 0} if the header cannot be read. Empty if not
  // needed (for batch.pad, batch.bucket) or if all samples have the same size.
  std::vector<Size> sizes;

 private:
  std::uint64_t records_;
  SampleIds ids_;
  std::vector<std::uint64_t> begin_;
  std::vector<double> weights_;
  Shares shares_;
};

// A user-defined selection of a source, in addition to the spec.
struct SamplePredicate {
  std::string name{};  // for messages
  // Removes from `ids` (some thousand records that pass the filters of the spec) the rejected ones. Called in the
  // thread of choose_samples(), which rethrows exceptions. Empty: all pass.
  std::function<void(std::vector<std::uint32_t>& ids)> keep{};
  // A weight for each record of the only source, instead of order.sample_weights; empty: none.
  std::span<const double> weights{};
};

// Selects the samples of spec.source or spec.mix. Reads labels and image headers that the index does not contain, in
// parallel, each record at most once per filter. `threads`: see SampleFacts; 0: threads_for_facts(). `predicates`: one
// per source, called after its filter and before its `take`; or empty. `check`: see SampleFacts.
[[nodiscard]] std::shared_ptr<const SampleSet> choose_samples(const PipelineSpec& spec, const Dataset& dataset,
                                                              int threads,
                                                              std::span<const SamplePredicate> predicates = {},
                                                              const std::function<void()>& check = {});

}  // namespace unstarve
