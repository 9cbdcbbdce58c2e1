// Arbitrary bytes as a Kineto trace, in pieces of any size: rejected with Error(kInput), or reduced to parts that sum
// to the analysed time, with rules that accept them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/traces/kineto.h"
#include "unstarve/diagnose/traces/reduce.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace unstarve;
  std::span<const std::uint8_t> left(data, size);
  const std::size_t piece = size % 7 == 0 ? 1 : 1 + size % 61;
  JsonPull json(
      [&] {
        const auto next = left.first(std::min(piece, left.size()));
        left = left.subspan(next.size());
        return next;
      },
      "input");
  TraceEvents events(1000);
  try {
    read_kineto(json, "input", events);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
  }
  RunProfile profile;
  profile.trace = reduce_trace(events);
  const double sum = std::accumulate(profile.trace->parts.begin(), profile.trace->parts.end(), 0.0);
  if (!(std::abs(sum - profile.trace->analysed_s) <= 1e-6 * (1 + sum))) std::abort();
  for (const RunFinding& finding : findings_of(profile))
    if (!(finding.lost >= 0 && finding.lost <= 1)) std::abort();
  if (to_json(run_profile_from_json(to_json(profile), "output")) != to_json(profile)) std::abort();
  return 0;
}
