#include "unstarve/jobs/common/rank_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "unstarve/diagnose/ranks/clock_offset.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

std::string percent(bool known, double share) { return known ? fmt::format("{:.0f}%", 100 * share) : "-"; }

std::string rate_text(double bytes_per_s) {
  return bytes_per_s > 0 ? format_bytes(static_cast<std::uint64_t>(bytes_per_s)) + "/s" : "-";
}

std::string clock_text(const std::optional<ClockOffset>& offset) {
  if (!offset) return "-";
  return offset->synchronised ? fmt::format("{:+.1f} +- {:.1f} ms", 1e3 * offset->seconds, 1e3 * offset->spread_s)
                              : "not in step";
}

}  // namespace

std::string ranks_to_text(std::span<const RankUse> ranks) {
  if (ranks.size() < 2) return "";
  std::string text =
      fmt::format("\n{:>4} {:<16} {:>8} {:>8} {:>6} {:>9} {:>7} {:>8} {:>10} {:>10} {:>16}\n", "rank", "host",
                  "process", "steps/s", "input", "exchange", "cores", "no core", "storage", "network", "clock");
  bool apart = false;
  for (const RankUse& rank : ranks) {
    const std::optional<ClockOffset> offset =
        &rank == ranks.data() ? std::nullopt : clock_offset(ranks[0].steps, rank.steps);
    apart = apart || (offset && !offset->synchronised);
    text += fmt::format("{:>4} {} {:>8} {:>8} {:>6} {:>9} {:>7.2f} {:>8} {:>10} {:>10} {:>16}\n",
                        rank.numbers.global >= 0 ? fmt::format("{}", rank.numbers.global) : "-",
                        pad_right(clip(printable(rank.host.name), 16), 16), rank.pid,
                        rank.steps.rate > 0 ? fmt::format("{:.2f}", rank.steps.rate) : "-",
                        percent(rank.stacks.seconds > 0, rank.stacks.input),
                        percent(rank.stacks.seconds > 0, rank.stacks.exchange), rank.main_cores + rank.other_cores,
                        percent(true, rank.run_delay), rate_text(rank.storage_bytes_per_s),
                        rate_text(rank.host.received_bytes_per_s), clock_text(offset));
  }
  text +=
      "input, exchange, no core: shares of the main thread's time; clock: of the ends of steps, against the first\n";
  if (apart) text += "the ranks do not synchronise in every step: offsets of clocks and stragglers are unknown\n";
  return text;
}

}  // namespace unstarve
