// Images are copied to the accelerator as float32, four times the bytes of uint8.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_float_copies(const TraceUse& trace) {
  const CopyUse pageable = copies_of(trace, CopyDirection::kToDevice, true);
  const CopyUse others = copies_of(trace, CopyDirection::kToDevice, false);
  const double bytes = static_cast<double>(pageable.bytes + others.bytes);
  if (bytes <= 0 || static_cast<double>(trace.image_bytes) < bytes / 2) return std::nullopt;
  CopyUse all = pageable;
  all.seconds += others.seconds;
  all.overlapped_s += others.overlapped_s;
  const double images = std::min(static_cast<double>(trace.image_bytes) / bytes, 1.0);
  const double lost = 0.75 * images * share_of(trace, exposed_s(trace, all));
  if (lost < 0.02) return std::nullopt;
  RunFinding finding;
  finding.title = "images are copied to the accelerator as float32";
  finding.evidence =
      fmt::format("{:.0f} % of the copied bytes are float32 tensors of 4 dimensions; no kernel runs for {} of copies",
                  100 * images, time_of(trace, exposed_s(trace, all)));
  const std::string what =
      "copy uint8 images, a quarter of the bytes, and convert and normalise them on the accelerator";
  finding.changes = {
      what, what + ": images.to(device, non_blocking=True).float().sub_(mean).div_(std)",
      what +
          ": keep tf.uint8 in the dataset, and begin the model with keras.layers.Rescaling and "
          "keras.layers.Normalization",
      what + ": jax.device_put(images), then (images.astype(jnp.float32) - mean) / std inside of the jitted step",
      what + ": to_torch(device, normalize=un.IMAGENET) does so"};
  finding.lost = lost;
  finding.gain = gain_without_part(trace, StepActivity::kCopy, lost * trace.analysed_s);
  return finding;
}

}  // namespace

const Rule kFloatCopies{
    "float32-copies",
    "at least half of the bytes copied to the accelerator are float32 tensors of 4 dimensions (requires "
    "record_shapes=True), and three quarters of their copying time without a kernel are 2 % of the step",
    of_trace<find_float_copies>};

}  // namespace unstarve
