#include "unstarve/infer/graph/unsupported.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "unstarve/core/error.h"

namespace unstarve::infer {

void UnsupportedOperators::check() const {
  constexpr std::size_t kListed = 8;
  if (empty()) return;
  std::vector<std::string> all;
  for (const auto& [op, nodes] : nodes_) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < nodes.size() && i < kListed; ++i) names.push_back("'" + nodes[i] + "'");
    if (nodes.size() > kListed) names.push_back(fmt::format("and {} more", nodes.size() - kListed));
    all.push_back(fmt::format("{} (node{} {})", op, nodes.size() > 1 ? "s" : "", fmt::join(names, ", ")));
  }
  throw Error(ErrorKind::kInput, fmt::format("found {} unsupported operator{}: {}; expected only those of the "
                                             "reference \"Model files\" (docs/reference/models.md)",
                                             all.size(), all.size() > 1 ? "s" : "", fmt::join(all, "; ")));
}

}  // namespace unstarve::infer
