#pragma once
// Settings that have an effect only with certain others, such as beta1 with adamw and lamb.
//
// Threads: pure functions.

#include <functional>
#include <string>
#include <string_view>

#include "unstarve/train/settings.h"

namespace unstarve {

// Why the setting of this path ("optimiser.beta1") has no effect: "no effect with optimiser.name sgd; expected adamw or
// lamb. Remove it, or change optimiser.name". "": it has one. `name_of` returns the name of the other setting in the
// message, from its path.
[[nodiscard]] std::string why_without_effect(
    std::string_view path, const TrainSettings& settings,
    const std::function<std::string(std::string_view)>& name_of = [](std::string_view other) {
      return std::string(other);
    });

}  // namespace unstarve
