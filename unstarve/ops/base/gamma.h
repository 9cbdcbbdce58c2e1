#pragma once
// Draws from the gamma distribution, the basis of the beta and Dirichlet draws for blends. Private to ops.

#include "unstarve/core/random.h"

namespace unstarve {

// Scale 1 (Marsaglia and Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
// Software 26(3), 2000). Precondition: shape > 0. Takes any number of uniform draws. Threads: pure.
[[nodiscard]] double draw_gamma(double shape, Random& random);

}  // namespace unstarve
