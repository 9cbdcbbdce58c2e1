#include "unstarve/jobs/training/lost_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/ranks/mpi.h"
#include "unstarve/train/checkpoints.h"

namespace unstarve {
namespace {

std::string lost_message(const Ranks& ranks, const std::vector<LocalRank>& lost, const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const LocalRank& each : lost) names.push_back(fmt::format("{} (process {})", each.rank, each.process));
  std::string next;
  try {
    next = how_to_continue(folder);
  } catch (const Error& error) {
    next = error.what();
  }
  return fmt::format(
      "training: rank {} ended without an error message, possibly killed for lack of memory; expected {} ranks. {}",
      fmt::join(names, ", "), ranks.world, next);
}

}  // namespace

std::unique_ptr<RankWatch> watch_ranks(const Ranks& ranks, const LostRank& lost,
                                       const std::filesystem::path& checkpoints) {
  if (!ranks.mpi || !lost) return nullptr;
  std::vector<LocalRank> others;
  std::vector<int> processes;
  for (const LocalRank& each : ranks.mpi->local_ranks()) {
    if (!each.watchable) continue;
    others.push_back(each);
    processes.push_back(each.process);
  }
  if (others.empty()) return nullptr;
  return std::make_unique<RankWatch>(processes, [=](const std::vector<std::size_t>& ended) {
    std::vector<LocalRank> missing;
    for (const std::size_t index : ended) missing.push_back(others[index]);
    // The first of the ranks that are left reports, unless a rank has reported why it ends.
    const bool first = std::ranges::none_of(others, [&](const LocalRank& each) {
      return each.rank < ranks.rank && std::ranges::find(missing, each.rank, &LocalRank::rank) == missing.end();
    });
    const bool reports = first && !ranks.mpi->announced_end();
    if (reports) ranks.mpi->announce_end();
    lost(reports ? lost_message(ranks, missing, checkpoints) : "");
  });
}

void announce_end(const Ranks& ranks) {
  if (ranks.mpi) ranks.mpi->announce_end();
}

void finish_ranks(const Ranks& ranks) {
  if (ranks.mpi) ranks.mpi->finish();
}

}  // namespace unstarve
