#pragma once
// What the files of the steps share: lists of candidates, reasons why a step does not apply, and copies of settings.
//
// Threads: constants and pure functions.

#include <string>
#include <utility>
#include <vector>

#include "unstarve/jobs/ladder/ladder_step.h"

namespace unstarve {

using Candidates = std::vector<Candidate>;

inline constexpr const char* kNoNetwork = "no network runs on an emulated accelerator";
inline constexpr const char* kOperatorsOnGpu = "operators run on the GPU";
inline constexpr std::uint64_t kBatchesPerEpoch = 8;  // at least

// The only candidate: `current` after `edit`.
template <class Edit>
Candidates edited(const Settings& current, std::string change, const Edit& edit) {
  Candidates list{{current, std::move(change)}};
  edit(list[0].settings);
  return list;
}

// Copies one member: copy_member<&Settings::host, &HostSettings::huge_pages>.
template <auto... Path>
void copy_member(const Settings& from, Settings& to) {
  (to.*....*Path) = (from.*....*Path);
}

}  // namespace unstarve
