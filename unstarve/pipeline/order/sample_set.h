#pragma once
// The samples that take part in a run, decided once: which records of the data set, and in which groups they are drawn.
//
//   ids   | group 0: ids ascending | group 1: ids ascending | ...
//
// One group is the usual; the sources of a mixture or the classes of balanced sampling are several, each with a weight.
//
// Threads: immutable. Memory: some bytes where all take part or the first so many, at most 4 per sample
//          (sample_ids.h); where sizes are needed 8 per record of the data set besides.
// Failure: choose_samples() throws Error(kArgument) naming the node of the spec that makes no sense for these data,
//          Error(kInput) when no sample is left, and what reading throws where classes are balanced.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/pipeline/order/sample_ids.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

class SampleSet {
 public:
  // All records, in one group.
  explicit SampleSet(std::uint64_t records) : SampleSet({0, records}, {}) {}
  // All records, in groups of neighbours: group g is begin[g] .. begin[g + 1] - 1.
  SampleSet(std::vector<std::uint64_t> begin, std::vector<double> weights);
  // Of some of so many records: group g is ids[begin[g]] .. ids[begin[g + 1] - 1], ascending.
  SampleSet(std::uint64_t records, SampleIds ids, std::vector<std::uint64_t> begin, std::vector<double> weights);

  [[nodiscard]] std::uint64_t size() const { return begin_.back(); }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  // All records, in places as they are stored.
  [[nodiscard]] bool everything() const { return ids_.as_stored() && size() == records_; }
  [[nodiscard]] const SampleIds& ids() const { return ids_; }
  [[nodiscard]] const std::vector<std::uint64_t>& begin() const { return begin_; }  // of the groups, and the end
  [[nodiscard]] std::size_t groups() const { return begin_.size() - 1; }
  [[nodiscard]] std::uint64_t group_begin(std::size_t group) const { return begin_[group]; }
  [[nodiscard]] std::uint64_t group_size(std::size_t group) const { return begin_[group + 1] - begin_[group]; }
  // One per group where they are drawn by weights; else empty, and there is one group.
  [[nodiscard]] const std::vector<double>& weights() const { return weights_; }
  // Samples of groups that are drawn at all.
  [[nodiscard]] std::uint64_t drawn() const;

  // Precondition: place < size().
  [[nodiscard]] std::uint64_t id(std::uint64_t place) const { return ids_[place]; }
  // The sample behind `id` in its group, the first one behind the last. Precondition: `id` takes part.
  [[nodiscard]] std::uint64_t next(std::uint64_t id) const;

  // Names the ids and groups: equal for equal sets, of the weights it knows nothing.
  [[nodiscard]] std::uint64_t fingerprint() const;

  // How it came about, for people: a line each.
  std::vector<std::string> notes;
  // Where they are needed (batch.pad, batch.bucket), of each record that takes part what the operations make of its
  // size, by id; {0, 0} where its header cannot be read. Empty where all come out with the same size, and where nobody
  // needs them.
  std::vector<Size> sizes;

 private:
  std::uint64_t records_;
  SampleIds ids_;
  std::vector<std::uint64_t> begin_;
  std::vector<double> weights_;
};

// A user's own filter of a source, beside what the spec says.
struct SamplePredicate {
  std::string name;  // for people
  // Takes out of `ids`, some thousand records that pass the filters of the spec, those that do not pass; in the calling
  // thread. What it throws leaves choose_samples(). Empty: all pass.
  std::function<void(std::vector<std::uint32_t>& ids)> keep{};
};

// As spec.source or spec.mix say. Labels that only a record tells and headers of images are read, in parallel by
// `threads` or as many more as the data reward; that reads each record once that passes the filters before.
// `predicates`: one for each source, asked after its filter and before its `take`; or none at all. `check`: as that of
// SampleFacts (sample_facts.h); what it throws leaves this.
[[nodiscard]] std::shared_ptr<const SampleSet> choose_samples(const PipelineSpec& spec, const Dataset& dataset,
                                                              int threads,
                                                              std::span<const SamplePredicate> predicates = {},
                                                              const std::function<void()>& check = {});

}  // namespace unstarve
