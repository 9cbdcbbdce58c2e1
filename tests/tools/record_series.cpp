// Prints what the main thread of a process does, as `watch` records it to find the period of its steps: one line per
// interval of 5 ms, of eight seconds; "CPU_US SWITCHES READS BYTES_READ BYTES_WRITTEN".
//
//   record_series PID
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stop_token>

#include "unstarve/diagnose/probes/step_probe.h"
#include "unstarve/diagnose/probes/thread_recorder.h"

int main(int count, char** arguments) {
  const unstarve::StepProbeOptions options;
  const auto looks = static_cast<std::size_t>(options.window_s / options.interval_s) + 1;
  unstarve::ThreadRecorder recorder(count > 1 ? std::atoi(arguments[1]) : 0, looks);
  recorder.record(options.interval_s, std::stop_token());
  const unstarve::ThreadSeries series = recorder.series(options.interval_s);
  if (recorder.looks() < looks / 2) {
    std::fprintf(stderr, "found %zu looks; expected %zu\n", recorder.looks(), looks);
    return 1;
  }
  for (std::size_t i = 0; i < series.counters[0].size(); ++i) {
    std::printf("%.0f", 1e6 * series.counters[0][i]);
    for (std::size_t counter = 1; counter < series.counters.size(); ++counter)
      std::printf(" %.4g", series.counters[counter][i]);
    std::printf("\n");
  }
}
