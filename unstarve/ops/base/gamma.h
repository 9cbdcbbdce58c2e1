#pragma once
// Draws from the gamma distribution, of which those of blends are made. Private to ops.

#include "unstarve/core/random.h"

namespace unstarve {

// Of scale 1 (Marsaglia and Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
// Software 26(3), 2000). Precondition: shape > 0. Draws any number of uniform ones. Threads: pure.
[[nodiscard]] double draw_gamma(double shape, Random& random);

}  // namespace unstarve
