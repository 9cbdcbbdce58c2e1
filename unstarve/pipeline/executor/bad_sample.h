#pragma once
// A sample that cannot be read, decoded or transformed.

#include <cstdint>
#include <string>

#include "unstarve/storage/dataset/record_location.h"

namespace unstarve {

struct BadSample {
  std::uint64_t id = 0;
  RecordLocation location;
  std::string reason;
};

}  // namespace unstarve
