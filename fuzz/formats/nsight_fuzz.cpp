// Arbitrary bytes as an SQLite export of Nsight Systems: rejected with Error(kInput), or reduced to parts that sum to
// the analysed time.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/traces/nsight.h"
#include "unstarve/diagnose/traces/reduce.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace unstarve;
  if (!begins_as_sqlite({data, size})) return 0;
  TraceEvents events(1000);
  const std::vector<std::uint8_t> bytes(data,
                                        data + size);  // SQLite may not write to it, but takes a pointer that could
  try {
    read_nsight(SqliteFile(bytes, "input"), "input", events);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput && error.kind() != ErrorKind::kIo) std::abort();
  }
  RunProfile profile;
  profile.trace = reduce_trace(events);
  const double sum = std::accumulate(profile.trace->parts.begin(), profile.trace->parts.end(), 0.0);
  if (!(std::abs(sum - profile.trace->analysed_s) <= 1e-6 * (1 + sum))) std::abort();
  (void)findings_of(profile);
  return 0;
}
