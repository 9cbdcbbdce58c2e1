// Arbitrary bytes as an XSpace: rejected with Error(kInput), or reduced to parts that sum to the analysed time.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/traces/reduce.h"
#include "unstarve/diagnose/traces/xspace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace unstarve;
  (void)begins_as_xspace({data, size});
  TraceEvents events(1000);
  try {
    read_xspace({data, size}, "input", events);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
  }
  RunProfile profile;
  profile.trace = reduce_trace(events);
  const double sum = std::accumulate(profile.trace->parts.begin(), profile.trace->parts.end(), 0.0);
  if (!(std::abs(sum - profile.trace->analysed_s) <= 1e-6 * (1 + sum))) std::abort();
  (void)findings_of(profile);
  return 0;
}
