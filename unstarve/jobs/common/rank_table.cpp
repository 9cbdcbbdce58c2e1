#include "unstarve/jobs/common/rank_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "unstarve/diagnose/ranks/clock_offset.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

std::string percent_or_dash(bool known, double share) { return known ? fmt::format("{:.0f}%", 100 * share) : "-"; }

std::string rate_text(double bytes_per_s) {
  return bytes_per_s > 0 ? format_bytes(static_cast<std::uint64_t>(bytes_per_s)) + "/s" : "-";
}

std::string clock_text(const std::optional<ClockOffset>& offset) {
  if (!offset) return "-";
  return offset->synchronised ? fmt::format("{:+.1f} +- {:.1f} ms", 1e3 * offset->seconds, 1e3 * offset->spread_s)
                              : "not in step";
}

constexpr const char* kHeads[] = {"rank",  "host",    "process", "steps/s", "input", "exchange",
                                  "cores", "no core", "storage", "network", "clock"};
constexpr const char* kMeaning =
    "input, exchange, no core: shares of the main thread's time; clock: of the ends of steps, against the first rank";
constexpr const char* kApart = "the ranks do not synchronise in every step: offsets of clocks are unknown";

std::optional<ClockOffset> offset_of(std::span<const RankUse> ranks, const RankUse& rank) {
  return &rank == ranks.data() ? std::nullopt : clock_offset(ranks[0].steps, rank.steps);
}

std::vector<std::string> row_of(std::span<const RankUse> ranks, const RankUse& rank) {
  return {rank.numbers.global >= 0 ? fmt::format("{}", rank.numbers.global) : "-",
          printable(rank.host.name),
          fmt::format("{}", rank.pid),
          rank.steps.rate > 0 ? fmt::format("{:.2f}", rank.steps.rate) : "-",
          percent_or_dash(rank.stacks.seconds > 0, rank.stacks.input),
          percent_or_dash(rank.stacks.seconds > 0, rank.stacks.exchange),
          fmt::format("{:.2f}", rank.main_cores + rank.other_cores),
          percent_or_dash(true, rank.run_delay),
          rate_text(rank.storage_bytes_per_s),
          rate_text(rank.host.received_bytes_per_s),
          clock_text(offset_of(ranks, rank))};
}

bool are_apart(std::span<const RankUse> ranks) {
  return std::ranges::any_of(ranks, [&](const RankUse& rank) {
    const std::optional<ClockOffset> offset = offset_of(ranks, rank);
    return offset && !offset->synchronised;
  });
}

}  // namespace

std::string ranks_to_text(std::span<const RankUse> ranks) {
  if (ranks.size() < 2) return "";
  constexpr std::size_t kWidths[] = {4, 16, 8, 8, 6, 9, 7, 8, 10, 10, 16};
  std::string text = "\n";
  const auto add = [&](const auto& cells) {
    for (std::size_t i = 0; i < std::size(kWidths); ++i) {
      const std::string_view cell = cells[i];
      text +=
          (i > 0 ? " " : "") + (i == 1 ? pad_right(clip(cell, kWidths[i]), kWidths[i]) : pad_left(cell, kWidths[i]));
    }
    text += "\n";
  };
  add(kHeads);
  for (const RankUse& rank : ranks) add(row_of(ranks, rank));
  text += fmt::format("{}\n", kMeaning);
  if (are_apart(ranks)) text += fmt::format("{}\n", kApart);
  return text;
}

FiguresTable ranks_table(std::span<const RankUse> ranks) {
  FiguresTable table;
  table.caption = fmt::format("Ranks ({})", are_apart(ranks) ? kApart : kMeaning);
  table.columns.assign(std::begin(kHeads), std::end(kHeads));
  for (const RankUse& rank : ranks) table.rows.push_back(row_of(ranks, rank));
  return table;
}

}  // namespace unstarve
