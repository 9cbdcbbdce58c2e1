#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/ops/operation.h"
#include "unstarve/ops/operation_list.h"

namespace unstarve {
namespace {

constexpr std::array kOperations = {
    OperationInfo{"random_resized_crop",
                  "a random part, resized: size (required), scale [0.08, 1] of the area, ratio [0.75, 1.3333]",
                  make_random_resized_crop},
    OperationInfo{"resize", "to a short side of `size`, or to [height, width] exactly: size (required)", make_resize},
    OperationInfo{"center_crop", "the middle, with black around where the image is smaller: size (required)",
                  make_center_crop},
    OperationInfo{"pad_crop", "a random part of the image with a black border: size (required), padding 4",
                  make_pad_crop},
    OperationInfo{"horizontal_flip", "mirrors left and right, at random: probability 0.5", make_horizontal_flip},
};

// Those of the program.
struct Added {
  std::mutex mutex;
  std::vector<OperationInfo> list;
};

Added& added() {
  static Added added;
  return added;
}

}  // namespace

std::vector<OperationInfo> operations() {
  std::vector<OperationInfo> all(kOperations.begin(), kOperations.end());
  Added& own = added();
  const std::lock_guard lock(own.mutex);
  all.insert(all.end(), own.list.begin(), own.list.end());
  return all;
}

void add_operation(const OperationInfo& info) {
  const auto refuse = [&](const char* why) {
    throw Error(ErrorKind::kArgument, fmt::format("add operation '{}': {}", info.name, why));
  };
  if (info.name.empty() || info.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
    refuse("expected a name of lower-case letters, digits and underscores");
  if (info.make == nullptr) refuse("it has no factory, expected `make`");
  const auto taken = [&](const OperationInfo& other) { return other.name == info.name; };
  Added& own = added();
  const std::lock_guard lock(own.mutex);
  if (std::any_of(kOperations.begin(), kOperations.end(), taken) ||
      std::any_of(own.list.begin(), own.list.end(), taken))
    refuse("the name is taken, expected another one");
  own.list.push_back(info);
}

std::unique_ptr<Operation> make_operation(const OpSpec& spec) {
  std::string known;
  for (const OperationInfo& info : operations()) {
    if (info.name == spec.name) return info.make(spec.params);
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  throw Error(ErrorKind::kArgument, fmt::format("unknown operation '{}'; known: {}", spec.name, known));
}

}  // namespace unstarve
