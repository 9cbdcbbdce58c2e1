#include "unstarve/pipeline/plan/batch_fields.h"

#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

std::vector<BatchField> batch_fields(const Plan& plan) {
  const StoreFormat& format = plan.store().format;
  const Size size = plan.sample_size();
  const std::size_t batch = plan.spec.batch.size, width = size.width, height = size.height;
  std::vector<BatchField> fields{{"image", std::string(name_of(format.type)), {batch, height, width, kChannels}},
                                 {"label", "int64", {batch}},
                                 {"id", "uint64", {batch}}};
  if (format.layout == Layout::kNchw) fields[0].shape = {batch, kChannels, height, width};
  if (plan.target_classes() > 0) fields.push_back({"target", "float32", {batch, plan.target_classes()}});
  return fields;
}

}  // namespace unstarve
