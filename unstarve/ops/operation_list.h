#pragma once
// The factories of all operations, one per file of this folder; operations.cpp puts them into the table.

#include <memory>

#include "unstarve/ops/operation.h"

namespace unstarve {

[[nodiscard]] std::unique_ptr<Operation> make_random_resized_crop(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_resize(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_center_crop(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_pad_crop(const OpParams& params);
[[nodiscard]] std::unique_ptr<Operation> make_horizontal_flip(const OpParams& params);

}  // namespace unstarve
