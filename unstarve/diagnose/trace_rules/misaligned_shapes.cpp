// Matrix products and convolutions with sizes for which tensor cores have no fast kernels.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_misaligned_shapes(const TraceUse& trace) {
  constexpr double kFirstWithTensorCores = 7.0;  // compute capability: Volta
  double matrix = 0;
  for (const DeviceUse& device : trace.devices)
    if (device.compute_capability >= kFirstWithTensorCores) matrix += device.matrix_s;
  const double share = share_of(trace, matrix / std::max<double>(1, static_cast<double>(trace.devices.size())));
  const ArithmeticUse& work = trace.arithmetic;
  if (work.operations_16 <= 0 || share < 0.2) return std::nullopt;
  const double misaligned = std::min(work.misaligned_16 / work.operations_16, 1.0);
  if (misaligned < 0.2) return std::nullopt;
  RunFinding finding;
  finding.title = "sizes of matrix products are no multiples of 8, for which tensor cores are fast";
  finding.evidence = fmt::format(
      "{:.0f} % of the operations with numbers of 16 bits have channels or features that are no multiples of 8; matrix "
      "products and convolutions take {:.0f} % of the time",
      100 * misaligned, 100 * share);
  finding.change =
      "make channels, features, the number of classes and the size of the vocabulary multiples of 8, or better 64";
  finding.lost = share * misaligned;
  finding.gain = gain_without(finding.lost);  // an upper bound
  return finding;
}

}  // namespace

const Rule kMisalignedShapes{
    "misaligned-shapes",
    "matrix products and convolutions take 20 % of the time on an accelerator with tensor cores, and a fifth of their "
    "operations with numbers of 16 bits have channels or features that are no multiples of 8 (requires "
    "record_shapes=True)",
    of_trace<find_misaligned_shapes>};

}  // namespace unstarve
