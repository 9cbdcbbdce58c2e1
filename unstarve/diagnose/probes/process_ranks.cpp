#include "unstarve/diagnose/probes/process_ranks.h"

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/diagnose/probes/proc_text.h"

namespace unstarve {
namespace {

RankNumbers rank_numbers_of(int pid) {
  try {
    return parse_rank_numbers(read_text_file(fmt::format("/proc/{}/environ", pid)));
  } catch (const Error&) {  // of another user
    return {};
  }
}

}  // namespace

void ProcessRanks::read(std::span<const ProcessUse> processes) {
  for (const ProcessUse& process : processes)
    if (process.role == ProcessRole::kMain && !process.ended && !numbers_.contains(process.pid))
      numbers_[process.pid] = rank_numbers_of(process.pid);
}

}  // namespace unstarve
