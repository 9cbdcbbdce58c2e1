#pragma once
// Checks that a graph is well formed. Run after import and after every pass.
//
// Threads: pure.

#include <string>

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

// The first violation of the invariants of graph.h, with the name of its node or value; empty for a valid graph.
[[nodiscard]] std::string violation(const Graph& graph);

// The first constant that has NaN or an infinity: "'fc.weight' has NaN at index 12"; empty if there is none.
[[nodiscard]] std::string not_finite(const Graph& graph);

}  // namespace unstarve::infer
