#pragma once
// A part of the report: a flame graph, i.e. stacks as nested bars whose width is their share of the time.
//
// Threads: plain data and pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace unstarve {

struct FlameNode {
  std::string name;
  std::string detail;  // shown with the name on request, such as file and line
  double share = 0;    // of the whole graph, 0..1
  std::vector<FlameNode> children;
};

struct FlameGraph {
  std::string title;
  FlameNode root;
};

// Removes nodes with less than `least` of the graph, orders children by name and joins those with the same name and
// detail.
void simplify(FlameNode& node, double least);

// For screen readers: the functions with most time of their own.
[[nodiscard]] std::string in_words(const FlameGraph& graph);
// {"title", "root": node}; a node is [name, detail, share, [children]]
[[nodiscard]] nlohmann::json island_of(const FlameGraph& graph);

}  // namespace unstarve
