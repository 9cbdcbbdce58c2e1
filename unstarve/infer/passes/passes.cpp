#include <fmt/format.h>

#include <array>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/passes/pass.h"

namespace unstarve::infer {

std::span<const Pass> pass_table() noexcept {
  static constexpr std::array<Pass, 3> kPasses{{
      {"remove_identities", "remove nodes whose result is their input", remove_identities},
      {"fold_constants", "evaluate nodes that read only constants", fold_constants},
      {"fold_batch_norm", "fold batch norms into the layers before them", fold_batch_norm},
  }};
  return kPasses;
}

PassedGraph run_passes(Graph graph, std::span<const Pass> passes) {
  PassedGraph result{std::move(graph), {}};
  for (const Pass& pass : passes) {
    PassReport report{std::string(pass.name), 0, result.graph.nodes.size(), 0};
    auto [after, changed] = pass.run(std::move(result.graph));
    if (const std::string wrong = violation(after); !wrong.empty())
      throw Error(ErrorKind::kInternal, fmt::format("pass {}: {}", pass.name, wrong));
    report.changed = changed;
    report.nodes_after = after.nodes.size();
    result.graph = std::move(after);
    result.reports.push_back(std::move(report));
  }
  return result;
}

}  // namespace unstarve::infer
