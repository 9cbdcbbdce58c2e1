#include "unstarve/train/cpu_precision.h"

namespace unstarve {

PrecisionSupport cpu_precision(const MachineFacts& machine, Precision precision) {
  switch (precision) {
    case Precision::kFloat32: break;
    case Precision::kBfloat16:
      if (machine.has("avx512_bf16") || machine.has("amx_bf16") || machine.has("neon_bf16")) break;
      return {false, "this CPU has no bfloat16 instructions (avx512_bf16 or amx_bf16)"};
    case Precision::kFloat16:
      if (machine.has("avx512_fp16") || machine.has("amx_fp16")) break;
      return {false, "this CPU has no float16 instructions (avx512_fp16 or amx_fp16)"};
  }
  return {true, ""};
}

}  // namespace unstarve
