#include "unstarve/jobs/common/report_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/profile/thread_window.h"
#include "unstarve/jobs/common/findings.h"
#include "unstarve/observe/format.h"

namespace unstarve {

CurveChart time_chart(const char* title, CurveUnit unit) {
  CurveChart chart;
  chart.title = title;
  chart.x_title = "seconds";
  chart.axis = CurveAxis::kLinear;
  chart.unit = unit;
  chart.from_zero = true;
  return chart;
}

void add_curve(CurveChart& chart, const std::string& name, std::span<const double> values, double interval,
               double factor) {
  Curve curve;
  curve.name = name;
  const std::size_t joined = (values.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < values.size(); i += joined) {
    const std::size_t end = std::min(i + joined, values.size());
    double sum = 0;
    for (const double value : values.subspan(i, end - i)) sum += value;
    const double mean = factor * sum / static_cast<double>(end - i);
    curve.points.push_back({static_cast<double>(end) * interval, mean, mean, mean});
  }
  chart.curves.push_back(std::move(curve));
}

CurveChart steps_chart(const char* title) {
  CurveChart chart = time_chart(title, CurveUnit::kNumber);
  chart.x_title = "step";
  return chart;
}

Bar plain_bar(std::string name, double value, std::string figure) {
  return {std::move(name), std::move(figure), {{"", value}}, 0, 0};
}

BarChart step_histogram(std::span<const double> seconds, const char* title) {
  constexpr int kBins = 10;
  BarChart chart;
  chart.title = title;
  chart.unit = "steps";
  if (seconds.size() < kFewestForHistogram) return chart;
  const double low = quantile(seconds, 0), high = quantile(seconds, 0.99);
  if (!(high > low) || !std::isfinite(high - low)) return chart;
  std::vector<int> counts(kBins + 1);
  for (const double each : seconds) {
    const double at = (each - low) / (high - low);  // above 1: of the slowest
    ++counts[static_cast<std::size_t>(at > 1 ? kBins : std::min(static_cast<int>(kBins * at), kBins - 1))];
  }
  const auto end = [&](int bin) { return 1e3 * (low + (high - low) * bin / kBins); };
  // Decimals that distinguish the bins.
  const int digits = static_cast<int>(std::clamp(std::ceil(1 - std::log10(1e3 * (high - low) / kBins)), 0.0, 6.0));
  for (int bin = 0; bin <= kBins; ++bin) {
    const int count = counts[static_cast<std::size_t>(bin)];
    if (bin == kBins && count == 0) break;
    const std::string name = bin < kBins ? fmt::format("{:.{}f} to {:.{}f} ms", end(bin), digits, end(bin + 1), digits)
                                         : fmt::format("above {:.{}f} ms", end(bin), digits);
    chart.bars.push_back(plain_bar(name, count, std::to_string(count)));
  }
  return chart;
}

namespace {

// The first of `steps` consecutive ones whose duration is the median of all such windows: without the pauses between
// measurements.
std::size_t typical_window(std::span<const double> begins, std::size_t steps) {
  std::vector<std::pair<double, std::size_t>> windows;
  for (std::size_t i = 0; i + steps < begins.size(); ++i) windows.emplace_back(begins[i + steps] - begins[i], i);
  const auto middle = windows.begin() + static_cast<std::ptrdiff_t>((windows.size() - 1) / 2);
  std::ranges::nth_element(windows, middle);
  return middle->second;
}

}  // namespace

Timeline timeline_of_steps(const std::string& title, std::span<const RecordedTrack> tracks,
                           const std::vector<std::string>& parts) {
  constexpr std::size_t kMostShownSteps = 10;
  const auto is_step = [](const RecordedSpan& span) { return span.name.starts_with("step "); };
  Timeline timeline;
  std::vector<double> begins;  // of the steps of one track
  for (const RecordedTrack& track : tracks) {
    const bool named = std::ranges::any_of(track.spans, is_step);
    for (const RecordedSpan& span : track.spans)
      if (named ? is_step(span) : span.name == parts[0]) begins.push_back(span.begin_s);
    if (!begins.empty()) break;
  }
  if (begins.size() < 3) return timeline;
  const std::size_t shown = std::clamp((begins.size() - 1) / 3, std::size_t{1}, kMostShownSteps);
  const std::size_t first = typical_window(begins, shown);
  const double begin = begins[first], end = begins[first + shown];
  timeline.title = title;
  timeline.seconds = end - begin;
  for (std::size_t i = first; i < first + shown; ++i) timeline.marks.push_back(begins[i] - begin);
  timeline.names = timeline.kinds = parts;
  timeline.kinds.emplace_back("step");
  const auto add = [&](const RecordedSpan& span, int lane, int name, int kind) {
    const double from = std::max(span.begin_s, begin), to = std::min(span.begin_s + span.seconds, end);
    if (to > from) timeline.spans.push_back({lane, name, kind, from - begin, to - from});
  };
  for (const RecordedTrack& track : tracks) {
    if (std::ranges::any_of(track.spans, is_step)) {
      for (const RecordedSpan& span : track.spans) {
        if (!is_step(span) || span.begin_s < begin || span.begin_s >= end) continue;
        add(span, static_cast<int>(timeline.lanes.size()), static_cast<int>(timeline.names.size()),
            static_cast<int>(parts.size()));
        timeline.names.push_back(span.name);
      }
      timeline.lanes.emplace_back("steps");
    }
    for (const RecordedSpan& span : track.spans) {
      const auto part = std::ranges::find(parts, span.name) - parts.begin();
      if (part == std::ssize(parts)) continue;
      add(span, static_cast<int>(timeline.lanes.size()), static_cast<int>(part), static_cast<int>(part));
    }
    timeline.lanes.push_back(printable(track.name));
  }
  return timeline;
}

Timeline timeline_of_threads(const ThreadWindow& window) {
  Timeline timeline;
  if (window.spans.empty()) return timeline;
  timeline.title = window.steps.empty() ? fmt::format("Threads from {:.1f} s on", window.begin_s)
                                        : fmt::format("Threads in {} typical steps from {:.1f} s on, by {}",
                                                      window.steps.size(), window.begin_s, window.step_source);
  timeline.title +=
      fmt::format(", sampled every {:.1f} ms: shorter changes are not visible", 1e3 * window.resolution_s);
  timeline.seconds = window.seconds;
  timeline.marks = window.steps;
  for (std::size_t state = 0; state < kThreadStates; ++state)
    timeline.kinds.emplace_back(to_string(static_cast<ThreadState>(state)));
  timeline.names = timeline.kinds;
  if (!window.steps.empty()) {
    timeline.lanes.emplace_back("steps");
    timeline.kinds.emplace_back("step");
  }
  const auto first = static_cast<int>(timeline.lanes.size());
  for (std::size_t i = 0; i < window.steps.size(); ++i) {
    const double end = i + 1 < window.steps.size() ? window.steps[i + 1] : window.seconds;
    timeline.spans.push_back({0, static_cast<int>(timeline.names.size()), static_cast<int>(kThreadStates),
                              window.steps[i], std::max(end - window.steps[i], 0.0)});
    timeline.names.push_back(fmt::format("step {}", i + 1));
  }
  for (const std::string& lane : window.lanes) timeline.lanes.push_back(printable(lane));
  for (const ThreadSpan& span : window.spans) {
    const auto state = static_cast<int>(span.state);
    timeline.spans.push_back({first + span.lane, state, state, span.begin_s, span.seconds});
  }
  return timeline;
}

std::vector<ReportFinding> report_findings(std::span<const RunFinding> findings) {
  std::vector<ReportFinding> shown;
  for (const RunFinding& finding : findings) {
    shown.push_back(
        {finding.title, finding.evidence, finding.change, gain_text(finding), to_string(finding.confidence)});
  }
  return shown;
}

}  // namespace unstarve
