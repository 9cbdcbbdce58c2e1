#pragma once
// Passes: each takes a graph and returns one that computes the same, within rounding, with fewer nodes.
//
// To add a pass: a file here with its function, and a row in passes.cpp.
//
// Threads: pure. Cost: constants that a pass does not change are shared with the graph before.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

struct PassResult {
  Graph graph{};
  int changed = 0;  // nodes that were removed or rewritten
};

// Removes nodes whose result is their input: Identity, Dropout, Cast to the same type, Reshape, Flatten and Transpose
// that change nothing, Pad by zero, Concat of one value. Those between an input and an output of the model stay.
[[nodiscard]] PassResult remove_identities(Graph graph);
// Replaces nodes that read only constants by their result: arithmetic of float32 and int64, Cast, Concat, Flatten,
// Reshape, Transpose. Weights that are stored as int8 stay so: DequantizeLinear is not evaluated.
[[nodiscard]] PassResult fold_constants(Graph graph);
// Multiplies the weights of a float32 Conv or Gemm by the scale of the batch norm that follows, and adds its shift to
// the bias. A MaxPool between them is allowed if the scale of every channel is positive.
[[nodiscard]] PassResult fold_batch_norm(Graph graph);

struct Pass {
  std::string_view name;
  std::string_view help;
  PassResult (*run)(Graph graph);
};

// In the order in which they run.
[[nodiscard]] std::span<const Pass> pass_table() noexcept;

struct PassReport {
  std::string name{};
  int changed = 0;
  std::size_t nodes_before = 0;
  std::size_t nodes_after = 0;
};

struct PassedGraph {
  Graph graph{};
  std::vector<PassReport> reports{};
};

// Runs passes one after the other and verifies the graph after each. Throws Error(kInternal) with the name of a pass
// that returns an invalid graph.
[[nodiscard]] PassedGraph run_passes(Graph graph, std::span<const Pass> passes = pass_table());

}  // namespace unstarve::infer
