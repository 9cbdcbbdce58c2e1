#include "unstarve/ops/gpu/output.h"

#include "unstarve/ops/store/convert.h"

namespace unstarve::gpu {

Output make_output(const StoreFormat& format) {
  Output output;
  switch (format.type) {
    case ElementType::kUint8: output.type = OutputType::kUint8; break;
    case ElementType::kFloat32: output.type = OutputType::kFloat32; break;
    case ElementType::kBfloat16: output.type = OutputType::kBfloat16; break;
    case ElementType::kFloat16: output.type = OutputType::kFloat16; break;
  }
  output.layout = format.layout;
  const auto map = make_map(format.normalisation);
  output.scale = map->scale;
  output.bias = map->bias;
  return output;
}

}  // namespace unstarve::gpu
