#include <array>
#include <string>

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

}  // namespace

std::span<const OperationInfo> operations() { return kOperations; }

std::unique_ptr<Operation> make_operation(const OpSpec& spec) {
  std::string known;
  for (const OperationInfo& info : kOperations) {
    if (info.name == spec.name) return info.make(spec.params);
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  }
  throw Error(ErrorKind::kArgument, fmt::format("unknown operation '{}'; known: {}", spec.name, known));
}

}  // namespace unstarve
