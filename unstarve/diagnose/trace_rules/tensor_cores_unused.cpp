// Matrix products and convolutions that do not use the tensor cores of the accelerator.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"
#include "unstarve/diagnose/traces/activity_names.h"

namespace unstarve {
namespace {

constexpr double kFirstWithTensorCores = 7.0;  // compute capability: Volta
constexpr double kFirstWithBfloat16 = 8.0;     // Ampere
constexpr double kUnclear = 0.05;              // of the time: fewer products of unknown kind are not worth a remark

// Seconds of the longest kernels that are matrix products whose names do not show whether they use tensor cores.
double unclear_s(const TraceUse& trace) {
  double seconds = 0;
  for (const NamedTime& kernel : trace.kernels)
    if (kernel_traits(kernel.name).unclear) seconds += kernel.seconds;
  return seconds;
}

std::optional<RunFinding> find_tensor_cores_unused(const TraceUse& trace) {
  double matrix = 0, tensor_core = 0, capability = 0;
  const double devices = std::max<double>(1, static_cast<double>(trace.devices.size()));
  for (const DeviceUse& device : trace.devices) {
    if (device.compute_capability < kFirstWithTensorCores) continue;
    matrix += device.matrix_s;
    tensor_core += device.tensor_core_s;
    capability = device.compute_capability;
  }
  const double share = share_of(trace, matrix / devices);
  if (share < 0.2 || tensor_core >= 0.2 * matrix) return std::nullopt;
  // Tensor cores are at least twice as fast as the others; of an A100, 16 times as fast for numbers of 16 bits.
  const double others = share * (1 - tensor_core / matrix), lost = 0.5 * others;
  const double least = gain_without(lost).gain, most = gain_without(others).gain;
  RunFinding finding;
  const double unclear = share_of(trace, unclear_s(trace) / devices);
  finding.title = unclear > share ? "some matrix products do not use the tensor cores"
                                  : "matrix products do not use the tensor cores";
  finding.evidence = fmt::format(
      "matrix products and convolutions take {:.0f} % of the time, {:.0f} % of it in kernels "
      "that use tensor cores; the interval of the gain is from twice as fast products to products without time",
      100 * share, 100 * tensor_core / matrix);
  if (unclear >= kUnclear)
    finding.evidence += fmt::format(
        "; products that XLA generates take a further {:.0f} %: their names do not show whether they use tensor cores, "
        "and they do not count",
        100 * unclear);
  const bool bfloat16 = capability >= kFirstWithBfloat16;
  finding.changes = {
      "multiply numbers of 16 bits, with weights in float32",
      bfloat16 ? "use torch.autocast(\"cuda\", dtype=torch.bfloat16), or "
                 "torch.set_float32_matmul_precision(\"high\") with torch.backends.cudnn.allow_tf32 = True"
               : "use torch.autocast(\"cuda\", dtype=torch.float16) with torch.amp.GradScaler",
      fmt::format("call keras.mixed_precision.set_global_policy(\"mixed_{}\")", bfloat16 ? "bfloat16" : "float16"),
      fmt::format("compute in jnp.{}, with parameters in float32", bfloat16 ? "bfloat16" : "float16"),
      fmt::format("unstarve train --precision {}", bfloat16 ? "bfloat16" : "float16")};
  finding.changes.add({"sizes of channels and features that are multiples of 8 are required for most kernels"});
  finding.lost = lost;
  finding.gain = {std::sqrt(least * most), least, most};
  return finding;
}

}  // namespace

const Rule kTensorCoresUnused{"tensor-cores-unused",
                              "matrix products and convolutions take 20 % of the time on an accelerator with tensor "
                              "cores, less than a fifth of it in kernels that use them; products that XLA generates "
                              "do not count, because their names do not show it",
                              of_trace<find_tensor_cores_unused>};

}  // namespace unstarve
