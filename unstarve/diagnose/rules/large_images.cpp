// Images are decoded completely and then made much smaller.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr double kPage = 4096;
constexpr double kNewMemory = 150e6;  // bytes per second of CPU time; decoding photographs of 0.2 megapixels: 20e6

std::optional<RunFinding> find(const RunProfile& profile) {
  const RoleSum loader = sum_of(profile, ProcessRole::kLoader);
  const bool workers = loader.processes > 0 && profile.stacks.processes > 0;
  const StackThread thread = workers ? StackThread::kLoader : StackThread::kMain;
  const double processes = workers ? profile.stacks.processes : 1;
  const double decode = share_of(profile.stacks, thread, Activity::kDecode) / processes;
  const double input = input_share(profile);
  const double input_decode = workers ? decode : decode_within_input(profile.stacks);
  const RoleSum& sum = workers ? loader : sum_of(profile, ProcessRole::kMain);
  if (sum.cpu_s <= 0 || input < 0.1) return std::nullopt;
  const double new_memory = kPage * static_cast<double>(sum.minor_faults) / sum.cpu_s;
  const double share = workers ? input_decode : input_decode / input;
  if (share < 0.4 || new_memory < kNewMemory) return std::nullopt;
  RunFinding finding;
  finding.title = "large images are decoded completely";
  finding.evidence =
      fmt::format("the loader decodes for {:.0f} % of its time and uses {:.0f} MB of new memory per second of CPU time",
                  100 * share, 1e-6 * new_memory);
  finding.change =
      "decode at reduced scale (image.draft('RGB', size) of Pillow before it is read; unstarve does so), or "
      "store smaller images once (unstarve prepare)";
  // Decoding at reduced scale needs about 0.4 of the time: entropy decoding remains.
  const double rest = 1 - 0.6 * share;
  finding.gain = std::min(1 / (input * rest + 1 - input), gain_without(input));
  finding.lost = 1 - 1 / finding.gain;
  return finding;
}

}  // namespace

extern const Rule kLargeImages;
const Rule kLargeImages{"large-images",
                        "the main thread is in the loader for 10 % of the time, which decodes for 40 % of its time and "
                        "uses 150 MB of new memory per second of CPU time",
                        find};

}  // namespace unstarve
