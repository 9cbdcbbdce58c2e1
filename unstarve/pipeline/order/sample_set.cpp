#include "unstarve/pipeline/order/sample_set.h"

#include <utility>

#include "unstarve/pipeline/order/permutation.h"

namespace unstarve {

SampleSet::SampleSet(std::vector<std::uint64_t> begin, std::vector<double> weights)
    : records_(begin.back()), ids_(records_), begin_(std::move(begin)), weights_(std::move(weights)) {
  ids_.add(0, records_);
}

SampleSet::SampleSet(std::uint64_t records, SampleIds ids, std::vector<std::uint64_t> begin,
                     std::vector<double> weights)
    : records_(records), ids_(std::move(ids)), begin_(std::move(begin)), weights_(std::move(weights)) {
  ids_.shrink();
}

std::uint64_t SampleSet::drawn() const {
  if (weights_.empty()) return size();
  std::uint64_t samples = 0;
  for (std::size_t group = 0; group < groups(); ++group)
    if (weights_[group] > 0) samples += group_size(group);
  return samples;
}

std::uint64_t SampleSet::next(std::uint64_t id) const {
  for (std::size_t group = 0; group < groups(); ++group) {
    const std::uint64_t begin = begin_[group], end = begin_[group + 1], index = ids_.lower_bound(begin, end, id);
    if (index < end && ids_[index] == id) return ids_[index + 1 == end ? begin : index + 1];
  }
  return id;  // precondition violated
}

std::uint64_t SampleSet::fingerprint() const {
  std::uint64_t print = mix_bits(records_ + 1);
  for (const std::uint64_t begin : begin_) print = tweak_of(print, begin);
  if (!shares_.empty()) print = tweak_of(print, shares_.fingerprint());
  return tweak_of(print, ids_.fingerprint());
}

}  // namespace unstarve
