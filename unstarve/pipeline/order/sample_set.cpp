#include "unstarve/pipeline/order/sample_set.h"

#include <algorithm>

#include "unstarve/pipeline/order/permutation.h"

namespace unstarve {

SampleSet::SampleSet(std::uint64_t records, std::vector<std::uint32_t> ids, std::vector<std::uint64_t> begin,
                     std::vector<double> weights)
    : records_(records), listed_(true), ids_(std::move(ids)), begin_(std::move(begin)), weights_(std::move(weights)) {
  ids_.shrink_to_fit();
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
    const std::uint64_t begin = begin_[group], end = begin_[group + 1];
    if (!listed_) {
      if (id >= begin && id < end) return id + 1 == end ? begin : id + 1;
      continue;
    }
    const auto first = ids_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = ids_.begin() + static_cast<std::ptrdiff_t>(end);
    const auto found = std::lower_bound(first, last, id);
    if (found != last && *found == id) return found + 1 == last ? *first : *(found + 1);
  }
  return id;  // the precondition does not hold
}

std::uint64_t SampleSet::fingerprint() const {
  std::uint64_t print = mix_bits(records_ + 1);
  for (const std::uint64_t begin : begin_) print = tweak_of(print, begin);
  for (const std::uint32_t id : ids_) print = tweak_of(print, id);
  return print;
}

}  // namespace unstarve
