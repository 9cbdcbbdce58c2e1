#include "unstarve/ops/gpu/host_run.h"

#include <cmath>
#include <cstring>
#include <numeric>

#include "unstarve/ops/gpu/run_program.h"

namespace unstarve::gpu {
namespace {

class HostTeam {
 public:
  HostTeam(Counts& counts, TeamOrder order) : counts_(counts), order_(order) {}

  template <class F>
  void each(std::uint32_t count, const F& f) {
    const std::uint64_t stride = stride_of(count);
    for (std::uint64_t i = 0, at = 0; i < count; ++i, at = (at + stride) % count) {
      f(static_cast<std::uint32_t>(order_ == TeamOrder::kBackwards ? count - 1 - i : at));
    }
  }
  template <class F>
  std::uint64_t sum(std::uint32_t count, const F& f) {
    std::uint64_t total = 0;
    each(count, [&](std::uint32_t i) { total += f(i); });
    return total;
  }
  static void add(std::uint32_t& to, std::uint32_t more) { to += more; }
  [[nodiscard]] Counts& counts() const { return counts_; }

 private:
  // Coprime to count, so that every index comes once.
  [[nodiscard]] std::uint64_t stride_of(std::uint32_t count) const {
    std::uint64_t stride = order_ == TeamOrder::kScattered ? 1'000'003 : 1;
    while (std::gcd(stride, std::uint64_t{count}) > 1) ++stride;
    return stride;
  }

  Counts& counts_;
  TeamOrder order_;
};

}  // namespace

void run_on_host(const BatchProgram& program, const BatchMemory& memory, const Output& output, TeamOrder order) {
  const auto bytes = static_cast<std::size_t>(program.scratch.bytes());
  Counts counts;
  HostTeam team(counts, order);
  for (std::int64_t sample = 0; sample < program.count; ++sample) {
    // Commands read only what earlier ones wrote: earlier contents must not affect the result.
    if (bytes > 0) std::memset(memory.scratch, static_cast<int>(0xA5 + sample), bytes);
    std::memset(&counts, 0x5A, sizeof counts);
    const Task task{program, memory.source + program.samples[sample].source, memory.scratch};
    run_sample(task, sample, output, team);
  }
}

}  // namespace unstarve::gpu
