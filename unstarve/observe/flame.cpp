#include "unstarve/observe/flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace unstarve {
namespace {

nlohmann::json node_island(const FlameNode& node) {
  nlohmann::json children = nlohmann::json::array();
  for (const FlameNode& child : node.children) children.push_back(node_island(child));
  return nlohmann::json::array({node.name, node.detail, node.share, std::move(children)});
}

void add_own_shares(const FlameNode& node, std::map<std::string, double>& shares) {
  double own = node.share;
  for (const FlameNode& child : node.children) {
    own -= child.share;
    add_own_shares(child, shares);
  }
  shares[node.name] += std::max(own, 0.0);
}

}  // namespace

void simplify(FlameNode& node, double least) {
  std::map<std::pair<std::string, std::string>, FlameNode> joined;
  for (FlameNode& child : node.children) {
    FlameNode& sum = joined[{child.name, child.detail}];
    sum.name = child.name;
    sum.detail = child.detail;
    sum.share += child.share;
    std::move(child.children.begin(), child.children.end(), std::back_inserter(sum.children));
  }
  node.children.clear();
  for (auto& [key, child] : joined) {
    if (child.share < least) continue;
    simplify(child, least);
    node.children.push_back(std::move(child));
  }
}

std::string in_words(const FlameGraph& graph) {
  constexpr std::size_t kNamed = 8;
  std::map<std::string, double> shares;
  add_own_shares(graph.root, shares);
  std::vector<std::pair<std::string, double>> order(shares.begin(), shares.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string words = "Functions with the most self time:";
  for (std::size_t i = 0; i < std::min(order.size(), kNamed); ++i)
    words += fmt::format("{} {} {:.0f} %", i == 0 ? "" : ",", order[i].first, 100 * order[i].second);
  return words + ".";
}

nlohmann::json island_of(const FlameGraph& graph) {
  return {{"title", graph.title}, {"root", node_island(graph.root)}};
}

}  // namespace unstarve
