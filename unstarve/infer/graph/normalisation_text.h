#pragma once
// The normalisation of a model's images as text, for metadata of checkpoints and ONNX files:
// "0.485 0.456 0.406 0.229 0.224 0.225" has means and standard deviations of red, green and blue in 0..1.
//
// Threads: pure.

#include <string>
#include <string_view>

#include "unstarve/ops/store/store_format.h"

namespace unstarve::infer {

inline constexpr const char* kNormalisationKey = "unstarve.normalisation";

[[nodiscard]] std::string text_of(const Normalisation& normalisation);
// The same numbers. Throws Error(kInput) for other text, deviations that are not positive, and numbers that are not
// finite.
[[nodiscard]] Normalisation parse_normalisation(std::string_view text);

}  // namespace unstarve::infer
