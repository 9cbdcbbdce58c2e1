#pragma once
// The names of operations and parameters that specs accept in addition to their own, as other libraries have them.
// Python accepts the same (python/unstarve/steps/operation_names.py).
//
//   p of any operation                      probability
//   flip, random_erasing                    horizontal_flip, erasing
//   random_crop                             pad_crop with padding 0
//   random_rotation                         rotation with interpolation nearest; degrees d is (-d, d)
//   auto_augment with a policy              auto_augment_imagenet, ...
//
// Threads: pure function.

#include <string_view>

#include "unstarve/ops/base/op_value.h"

namespace unstarve {

// `operation` by its own name. An operation that the program has added under a familiar name stays as it is. Throws
// Error(kArgument) for both p and probability.
[[nodiscard]] OpSpec with_own_names(OpSpec operation);

// The end of a message about an unknown operation that another library has: what to use in a spec; else empty.
[[nodiscard]] std::string_view use_instead(std::string_view operation);

}  // namespace unstarve
