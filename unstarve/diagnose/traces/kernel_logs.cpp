#include "unstarve/diagnose/traces/kernel_logs.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/diagnose/traces/cupti_file.h"
#include "unstarve/diagnose/traces/reduce.h"

namespace unstarve {

RecordedKernels read_kernel_logs(const std::filesystem::path& folder, const StepTimes& step_times) {
  RecordedKernels recorded;
  KernelLogFacts facts;
  TraceEvents events;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".cupti") continue;
    try {
      const std::string bytes = read_text_file(entry->path());
      TraceEvents read;
      KernelLogFacts found = read_kernel_log({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()},
                                             entry->path().string(), read);
      if (!found.message.empty()) recorded.missing = found.message;
      if (std::pair(found.kernels, found.ranges.events().size()) <=
          std::pair(facts.kernels, facts.ranges.events().size()))
        continue;
      facts = std::move(found);
      events = std::move(read);
    } catch (const Error& failed) {
      recorded.missing = failed.what();
    }
  }
  recorded.steps = steps_by_ranges(facts);
  if (facts.kernels == 0) return recorded;
  recorded.missing = facts.message;
  const std::vector<double> times = step_times(facts.process);
  if (!add_marked_steps(facts, times, events)) (void)add_steps_by_kernels(facts, events);
  recorded.trace = reduce_trace(events);
  recorded.trace->overhead_s += cost_of_recording(facts, times) * recorded.trace->analysed_s;
  return recorded;
}

}  // namespace unstarve
