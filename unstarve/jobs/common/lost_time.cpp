#include "unstarve/jobs/common/lost_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/jobs/common/report_parts.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

constexpr double kLeastShare = 0.001;

// Of a trace whose times are valid.
bool is_of_trace(const RunProfile& profile) { return profile.trace && !is_disturbed(*profile.trace); }

bool counts_devices(const RunProfile& profile) { return is_of_trace(profile) && !profile.trace->devices.empty(); }

std::string title_of_lost_time(const RunProfile& profile) {
  if (!counts_devices(profile)) return "Seconds of the main thread, by cause";
  const std::size_t devices = profile.trace->devices.size();
  return fmt::format("GPU-seconds in which all accelerators are idle, by cause ({} accelerator{}{})", devices,
                     devices == 1 ? "" : "s",
                     profile.watching.seconds > 0
                         ? fmt::format(", in the {:.1f} s in which kernels were recorded", profile.trace->analysed_s)
                         : "");
}

std::string seconds_text(double seconds) {
  return seconds < 1 ? format_rate(1e3 * seconds) + " ms" : format_rate(seconds) + " s";
}

}  // namespace

std::vector<LostTime> lost_time(const RunProfile& profile) {
  std::vector<LostTime> lost;
  double whole = 0;
  if (is_of_trace(profile)) {
    const IdleUse& idle = profile.trace->idle;
    const double devices = std::max(static_cast<double>(profile.trace->devices.size()), 1.0);
    whole = devices * profile.trace->analysed_s;
    for (const auto& [cause, seconds] : {std::pair{"loader", idle.loader_s},
                                         {"checkpoint", idle.checkpoint_s},
                                         {"logging", idle.logging_s},
                                         {"allocation", idle.allocation_s},
                                         {"synchronisation", idle.synchronisation_s},
                                         {"operators on the CPU", profile.trace->fallback.seconds},
                                         {"launch", idle.launch_s}})
      lost.push_back({cause, devices * seconds, 0});
  } else if (profile.stacks.seconds > 0) {
    whole = profile.watching.seconds;
    for (const Activity activity : {Activity::kInput, Activity::kThreads, Activity::kExchange, Activity::kCheckpoint,
                                    Activity::kLogging, Activity::kCompile})
      lost.push_back({to_string(activity), whole * share_of(profile.stacks, StackThread::kMain, activity), 0});
  }
  for (LostTime& each : lost) each.share = whole > 0 ? each.seconds / whole : 0;
  std::erase_if(lost, [](const LostTime& each) { return each.share < kLeastShare; });
  std::ranges::stable_sort(lost, [](const LostTime& a, const LostTime& b) { return a.seconds > b.seconds; });
  return lost;
}

BarChart lost_time_chart(const RunProfile& profile) {
  BarChart chart;
  chart.title = title_of_lost_time(profile);
  chart.unit = "s";
  for (const LostTime& lost : lost_time(profile)) {
    chart.bars.push_back(plain_bar(lost.cause, lost.seconds,
                                   fmt::format("{}, {}", seconds_text(lost.seconds), format_percent(lost.share))));
  }
  return chart;
}

FiguresTable lost_time_table(const RunProfile& profile) {
  FiguresTable table{title_of_lost_time(profile), {"cause", "seconds", "share of the time"}, {}, false, true};
  for (const LostTime& lost : lost_time(profile))
    table.rows.push_back({lost.cause, format_rate(lost.seconds), format_percent(lost.share)});
  return table;
}

}  // namespace unstarve
