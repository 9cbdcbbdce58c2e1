#pragma once
// The end of a rank under MPI, where every other rank would wait for it forever.
//
//   a rank fails            announce_end() ──▶ the others end, too, without a report
//   a rank is killed        the watch of the others notices it ──▶ one of them reports it, all of them end
//   all ranks are finished  finish_ranks(): MPI ends in order only if all ranks do
//
// Without MPI these functions do nothing: the exchange of torchrun fails in the other ranks.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "unstarve/ranks/rank_watch.h"
#include "unstarve/ranks/ranks.h"

namespace unstarve {

// Called by another thread, once, after a rank of this machine ended without reporting why. Receives the message for
// the user; "": another rank reports it.
using LostRank = std::function<void(const std::string& message)>;

// Watches the other ranks of this machine; null: there are none, this is not MPI, or `lost` is empty. `checkpoints`:
// the folder from which the user can continue, which the message names; "": none.
[[nodiscard]] std::unique_ptr<RankWatch> watch_ranks(const Ranks& ranks, const LostRank& lost,
                                                     const std::filesystem::path& checkpoints);
// This rank reports why it ends.
void announce_end(const Ranks& ranks);
void finish_ranks(const Ranks& ranks);

}  // namespace unstarve
