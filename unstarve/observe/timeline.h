#pragma once
// A part of the report: events of threads and devices over time, which the reader can zoom.
//
// Threads: plain data and pure functions. Texts are escaped.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace unstarve {

struct TimelineSpan {
  int lane = 0, name = 0, kind = 0;  // indices of the lists below
  double begin_s = 0, seconds = 0;
};

struct Timeline {
  std::string title;
  double seconds = 0;              // of all
  std::vector<std::string> lanes;  // threads, streams
  std::vector<std::string> names;  // of events
  std::vector<std::string> kinds;  // parts of a step, with the colours of BarChart
  std::vector<double> marks;       // begins of steps, in seconds
  std::vector<TimelineSpan> spans;
};

// For screen readers: the time of each lane in which it has events.
[[nodiscard]] std::string in_words(const Timeline& timeline);
// {"seconds", "lanes", "names", "kinds", "marks", "spans": [[lane, name, kind, begin_s, seconds]]}
[[nodiscard]] nlohmann::json island_of(const Timeline& timeline);

}  // namespace unstarve
