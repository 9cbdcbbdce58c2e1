#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/consumer.h"

namespace unstarve {

// The host computes pixel * scale + bias with one rounding. The device computes it in separate float32 steps, with
// constants rounded up to three times. Of these rounding errors, 2^-24 of a term each, at most 16 add up.
Rewrite pass_normalise_on_device(Plan plan, const PassContext& context) {
  ElementType& type = plan.store().format.type;
  if (type == ElementType::kUint8) return {std::move(plan), false, "the batches are uint8 already"};
  if (context.run.consumer != Consumer::kNormalises)
    return {std::move(plan), false, "the consumer uses the batches on the host"};
  if (type != ElementType::kFloat32)
    return {std::move(plan), false, "output.type is not float32, the only type that the device produces from uint8"};
  if (!plan.spec.batch_operations.empty())
    return {std::move(plan), false, "batch operations need normalised pixels on the host"};
  type = ElementType::kUint8;
  return {std::move(plan), true, "copies uint8, a quarter of the bytes; the device normalises"};
}

}  // namespace unstarve
