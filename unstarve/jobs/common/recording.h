#pragma once
// What a command measured, and when: the form from which its trace and its files for TensorBoard are written.
//
//   recording_of(result) of bench, tune, capacity and compare
//     ├─▶ chrome_trace()             tracks and counters, for --trace          (chrome_trace.h)
//     └─▶ write_recording_events()   scalars and text, for --tensorboard       (tensorboard/event_file.h)
//
// Times are seconds since the measurement began. Threads: plain data.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/jobs/common/json.h"

namespace unstarve {

struct RecordedSpan {
  std::string name;
  double begin_s = 0, seconds = 0;
  std::vector<std::pair<std::string, double>> figures{};  // shown with the span
};

// [{name, begin_s, seconds, and the figures}]
[[nodiscard]] Json to_json(const std::vector<RecordedSpan>& spans);

struct RecordedTrack {
  std::string process;              // tracks of one process are shown together
  std::string name;                 // unique within the process
  std::vector<RecordedSpan> spans;  // disjoint or nested
};

// Figures over time, one area per part.
struct RecordedCounter {
  std::string name;  // with the unit: "worker threads by stage"
  std::vector<std::string> parts;
  struct Point {
    double seconds = 0;
    std::vector<double> values;  // one per part; finite
  };
  std::vector<Point> points;  // in the order of time
};

struct RecordedScalar {
  std::string tag;  // "bench/loader"
  std::vector<std::pair<std::int64_t, double>> points;
  std::string run{};  // a subfolder, whose curves TensorBoard shows in the same charts; "": none
};

struct Recording {
  std::string command;
  std::vector<RecordedTrack> tracks;
  std::vector<RecordedCounter> counters;
  std::vector<RecordedScalar> scalars;
  std::string text_tag, text;  // Markdown; "": none
};

}  // namespace unstarve
