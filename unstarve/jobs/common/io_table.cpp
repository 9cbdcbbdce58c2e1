#include "unstarve/jobs/common/io_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "unstarve/diagnose/profile/io_use.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

std::string bytes_of(double bytes) { return bytes < 1 ? "0" : format_bytes(static_cast<std::uint64_t>(bytes)); }
std::string bytes_of(std::int64_t bytes) { return bytes_of(static_cast<double>(bytes)); }

std::vector<std::string> rate_row(const char* name, const RateUse& rate, bool is_bytes) {
  std::vector<std::string> row{name};
  for (const double value : {rate.mean, rate.p10, rate.p50, rate.p90})
    row.push_back(is_bytes ? bytes_of(value) : fmt::format("{:.3g}", value));
  row.emplace_back(is_bytes ? "bytes per second" : "per second");
  return row;
}

// "12.5 MB of process 4711 (python)", of all processes with such memory, the most first.
std::string memory_of(const std::vector<ProcessUse>& processes, std::int64_t ProcessUse::*member) {
  constexpr std::size_t kShown = 3;
  std::vector<const ProcessUse*> with;
  for (const ProcessUse& process : processes)
    if (process.*member > 0) with.push_back(&process);
  std::ranges::stable_sort(with, [&](const ProcessUse* a, const ProcessUse* b) { return a->*member > b->*member; });
  std::string text;
  for (std::size_t i = 0; i < std::min(with.size(), kShown); ++i) {
    text += fmt::format("{}{} of process {} ({})", i == 0 ? "" : ", ", bytes_of(with[i]->*member), with[i]->pid,
                        with[i]->name);
  }
  if (with.size() > kShown) text += fmt::format(", and {} more", with.size() - kShown);
  return text;
}

}  // namespace

FiguresTable io_table(const RunProfile& profile) {
  const IoUse use = io_use(profile);
  FiguresTable table{fmt::format("I/O and memory: of {} means over {:.0f} s", profile.timeline.read_bytes_per_s.size(),
                                 use.interval_s),
                     {"", "mean", "10 %", "median", "90 %", "unit"},
                     {},
                     false,
                     true};
  if (profile.timeline.read_bytes_per_s.empty()) return table;
  table.rows = {rate_row("read by the program", use.read, true), rate_row("... from storage", use.storage, true),
                rate_row("network, received", use.received, true), rate_row("network, sent", use.sent, true),
                rate_row("major page faults", use.major_faults, false)};
  return table;
}

std::vector<std::string> memory_notes(const RunProfile& profile) {
  std::vector<std::string> notes;
  const MachineUse& machine = profile.machine;
  if (const IoUse use = io_use(profile); use.cached_share >= 0) {
    notes.push_back(fmt::format("{} of the bytes that were read came from the page cache or pipes",
                                format_percent(use.cached_share)));
  }
  if (machine.shm_bytes > 0) {
    notes.push_back(fmt::format("/dev/shm: peak use by all programs {} of {}", bytes_of(machine.shm_used_bytes),
                                bytes_of(machine.shm_bytes)));
    if (machine.memory_limit_bytes > 0)
      notes.back() += fmt::format("; it counts towards the memory limit of {}", bytes_of(machine.memory_limit_bytes));
  }
  if (const std::string locked = memory_of(profile.processes, &ProcessUse::locked_bytes); !locked.empty())
    notes.push_back("locked memory: " + locked);
  if (const std::string pinned = memory_of(profile.processes, &ProcessUse::pinned_bytes); !pinned.empty())
    notes.push_back("pinned memory: " + pinned);
  if (profile.trace && profile.trace->pinned.allocations + profile.trace->pinned.releases > 0) {
    const MemoryUse& pinned = profile.trace->pinned;
    notes.push_back(
        fmt::format("pinned memory from CUDA in the recorded steps: {} allocations of {} together, {} at the same time",
                    pinned.allocations, bytes_of(pinned.allocated_bytes), bytes_of(pinned.peak_bytes)));
  }
  return notes;
}

std::string io_to_text(const RunProfile& profile) {
  std::string text;
  const FiguresTable table = io_table(profile);
  const auto add = [&](const std::vector<std::string>& row) {
    text += fmt::format("{:<24} {:>10} {:>10} {:>10} {:>10}\n", row[0], row[1], row[2], row[3], row[4]);
  };
  if (!table.rows.empty()) {
    text += "\n";
    std::vector<std::string> head = table.columns;
    head[0] = "I/O and memory, per s";
    add(head);
    for (const std::vector<std::string>& row : table.rows) add(row);
  }
  for (const std::string& note : memory_notes(profile)) text += note + "\n";
  return text;
}

}  // namespace unstarve
