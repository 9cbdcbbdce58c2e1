#pragma once
// The operators of a file that a graph cannot express, all of them, for one message.

#include <map>
#include <string>
#include <vector>

namespace unstarve::infer {

class UnsupportedOperators {
 public:
  // `op`: its name and, if only a form of it is unsupported, which one: "Clip whose bounds are not constant".
  void add(const std::string& op, const std::string& node) { nodes_[op].push_back(node); }
  [[nodiscard]] bool empty() const { return nodes_.empty(); }
  // Throws Error(kInput) with all operators and their nodes, at most 8 of each; does nothing if empty().
  void check() const;

 private:
  std::map<std::string, std::vector<std::string>> nodes_;
};

}  // namespace unstarve::infer
