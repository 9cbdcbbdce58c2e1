#include <fmt/format.h>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

// The consumer computes what the storer would have, pixel * scale + bias in one rounding, by float32 steps of its own:
// pixel * scale + bias in two, or (pixel - 255 mean) * scale, with constants that were rounded up to three times. Of
// the rounding errors, 2^-24 of a term each, at most 16 add up.
Decision apply(Plan& plan, const PassInput& input) {
  StoreFormat& output = plan.spec.output;
  if (output.type == ElementType::kUint8) return {false, "the batches are uint8 as they are"};
  if (input.consumer != Consumer::kNormalises)
    return {false, "the consumer takes the batches as they are, on the host"};
  const auto found = plan.spec.passes.find("normalise_on_device");
  if (found == plan.spec.passes.end())
    return {false, "approximate to the last bit, and not asked for by passes.normalise_on_device"};
  if (output.type != ElementType::kFloat32)
    return {false, "the device makes float32 of uint8, and output.type is another"};
  if (!plan.batch_operations.empty()) return {false, "batch operations blend normalised pixels"};
  output.type = ElementType::kUint8;
  return {true, "uint8 over the bus, a quarter of the bytes; the device normalises, to rounding"};
}

}  // namespace

const Pass kNormaliseOnDevicePass{
    .name = "normalise_on_device",
    .exact = false,
    .help = "sends uint8 to a device that normalises and casts",
    .apply = apply,
    .error = "a value is off by at most 2^-20 of the larger of |pixel / (255 std)| and |mean / std|"};

}  // namespace unstarve
