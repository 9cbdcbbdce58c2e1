#include "unstarve/train/device_precision.h"

#include <catch2/catch.hpp>

namespace unstarve {

TEST_CASE("a CPU supports the precisions for which it has instructions") {
  const auto supported = [](std::vector<std::string> sets, Precision precision) {
    MachineFacts machine;
    machine.instruction_sets = std::move(sets);
    const PrecisionSupport support = cpu_precision(machine, precision);
    CHECK(support.supported == support.reason.empty());
    return support.supported;
  };
  CHECK(supported({}, Precision::kFloat32));
  CHECK_FALSE(supported({"avx2", "avx512", "avx512_vnni"}, Precision::kBfloat16));
  CHECK_FALSE(supported({"neon", "neon_fp16"}, Precision::kBfloat16));
  for (const char* set : {"avx512_bf16", "amx_bf16", "neon_bf16"}) {
    CHECK(supported({"avx2", set}, Precision::kBfloat16));
    CHECK_FALSE(supported({"avx2", set}, Precision::kFloat16));
  }
  CHECK(supported({"amx_fp16"}, Precision::kFloat16));
  CHECK_FALSE(supported({"avx512_fp16", "amx_bf16"}, Precision::kFloat16));
}

TEST_CASE("a GPU supports the precisions of its compute capability") {
  DeviceReport report;
  report.gpus = {{"H100", 0, 9, 0}, {"T4", 0, 7, 5}};
  CHECK(gpu_precision(report, "cuda", Precision::kBfloat16).supported);
  CHECK(gpu_precision(report, "cuda:1", Precision::kFloat16).supported);
  CHECK(gpu_precision(report, "cuda:1", Precision::kFloat32).supported);
  CHECK(gpu_precision(report, "cuda:1", Precision::kBfloat16).reason ==
        "T4 has compute capability 7.5; bfloat16 needs 8.0");
  CHECK(gpu_precision(report, "cuda:2", Precision::kBfloat16).supported);
}

}  // namespace unstarve
