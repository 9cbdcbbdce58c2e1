// Arbitrary bytes as a file of /proc or of a cgroup, for every parser of them, and as the JSON of a RunProfile:
// rejected with Error(kInput), or equal after writing and reading it again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/probes/proc_text.h"
#include "unstarve/diagnose/profile/run_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace unstarve;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)parse_task_stat(text);
  (void)parse_run_times(text);
  (void)parse_system_call(text);
  (void)parse_voluntary_switches(text);
  (void)parse_io_counts(text);
  (void)parse_pressure_us(text);
  (void)parse_cpu_ticks(text, {0, 1, 7});
  (void)parse_quota_periods(text);
  (void)parse_network_bytes(text);
  (void)parse_status_memory(text);
  for (const int cpu : parse_allowed_cpus(text))
    if (cpu < 0) std::abort();
  if (const RankNumbers numbers = parse_rank_numbers(text); numbers.global < -1 || numbers.local < -1) std::abort();
  std::size_t length = 0;
  for (const std::string& word : parse_command_line(text)) length += word.size() + 1;
  if (length > size + 1) std::abort();
  RunProfile profile;
  try {
    profile = run_profile_from_json(std::string(text), "input");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
    return 0;
  }
  const std::string json = to_json(profile);
  if (to_json(run_profile_from_json(json, "output")) != json) std::abort();
  return 0;
}
