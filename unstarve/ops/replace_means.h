#pragma once
// Replaces the word "mean" in the parameters of operations by the pixel that normalises to about 0.

#include <vector>

#include "unstarve/ops/base/op_value.h"
#include "unstarve/ops/store/store.h"

namespace unstarve {

// Replaces every "mean", given or default, by the mean of `normalisation` rounded to 8 bits; by black without
// normalisation.
void replace_means(std::vector<OpSpec>& operations, const Normalisation& normalisation);

}  // namespace unstarve
