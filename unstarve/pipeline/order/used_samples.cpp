#include "unstarve/pipeline/order/used_samples.h"

#include <algorithm>
#include <utility>

namespace unstarve {

UsedSamples::UsedSamples(std::uint64_t offset, const std::vector<bool>& later, std::uint64_t length)
    : offset_(std::min(offset, length)) {
  auto unused = std::make_shared<std::vector<std::uint64_t>>();
  for (std::size_t i = 0; i < later.size() && offset_ + i < length; ++i) {
    if (later[i])
      ++later_;
    else
      unused->push_back(offset_ + i);
  }
  if (later_ > 0) unused_ = std::move(unused);
}

}  // namespace unstarve
