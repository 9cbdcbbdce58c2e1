// Matrix products and convolutions that do not use the tensor cores of the accelerator.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

constexpr double kFirstWithTensorCores = 7.0;  // compute capability: Volta
constexpr double kFirstWithBfloat16 = 8.0;     // Ampere

std::optional<RunFinding> find_tensor_cores_unused(const TraceUse& trace) {
  double matrix = 0, tensor_core = 0, capability = 0;
  for (const DeviceUse& device : trace.devices) {
    if (device.compute_capability < kFirstWithTensorCores) continue;
    matrix += device.matrix_s;
    tensor_core += device.tensor_core_s;
    capability = device.compute_capability;
  }
  const double share = share_of(trace, matrix / std::max<double>(1, static_cast<double>(trace.devices.size())));
  if (share < 0.2 || tensor_core >= 0.2 * matrix) return std::nullopt;
  // Tensor cores are at least twice as fast as the others; of an A100, 16 times as fast for numbers of 16 bits.
  const double others = share * (1 - tensor_core / matrix), lost = 0.5 * others;
  const double least = gain_without(lost).gain, most = gain_without(others).gain;
  RunFinding finding;
  finding.title = "matrix products do not use the tensor cores";
  finding.evidence = fmt::format(
      "matrix products and convolutions take {:.0f} % of the time, {:.0f} % of it in kernels "
      "that use tensor cores; the interval of the gain is from twice as fast products to products without time",
      100 * share, 100 * tensor_core / matrix);
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
                              "cores, less than a fifth of it in kernels that use them",
                              of_trace<find_tensor_cores_unused>};

}  // namespace unstarve
