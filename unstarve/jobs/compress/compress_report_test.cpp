// Texts of a result; tests/python/infer/test_compress.py has real ones.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/compress/compress.h"

namespace unstarve {
namespace {

CompressResult compress_result(std::optional<Portability> portability) {
  CompressResult result;
  result.model = "m.onnx";
  result.out = "small";
  result.layers = 21;
  CompressStep original{"original", "openvino", StepState::kOriginal};
  CompressStep int8{"int8", "21 of 21 layers, limits by mse", StepState::kKept};
  int8.kernels = {{"Convolution brgconv_avx512_I8", 20}, {"FullyConnected gemm_F32", 1}};
  result.steps = {original, int8};
  result.portability = std::move(portability);
  return result;
}

std::vector<std::string> notes_of(const CompressResult& result) {
  return report_of(result, "unstarve compress").curves.at(0).notes;
}

}  // namespace

TEST_CASE("weights of 7 bits are offered with their loss and their file where 8 bits lose too much") {
  const CompressResult result =
      compress_result(Portability{"", {0.0109, 0.0065, 0.0153, 1000}, ShareInterval{0.0002, -0.0015, 0.002, 1000}, {}});
  const std::string text = to_text(result);
  CHECK_THAT(text, Catch::Contains("\nwithout VNNI accuracy loss 1.09 % [0.65 %, 1.53 %], measured in OpenVINO "
                                   "with AVX2 only\n             weights of 7 bits lose 0.02 % there: "
                                   "small/model-7bits.onnx\n"));
  const Json json = parse_ordered_json(to_json(result)).at("portability");
  CHECK(json.at("loss").at("share") == 0.0109);
  CHECK(json.at("seven_bits_loss").at("share") == 0.0002);
  CHECK(json.at("seven_bits_model") == "model-7bits.onnx");
  CHECK(json.at("failure").is_null());
  CHECK_THAT(notes_of(result),
             Catch::VectorContains(std::string("On x86 CPUs without VNNI: weights of 7 bits lose 0.02 % there: "
                                               "small/model-7bits.onnx.")));
}

TEST_CASE("a portability check that failed has its reason") {
  const CompressResult result = compress_result(Portability{"engine openvino: none", {}, {}, {}});
  CHECK_THAT(to_text(result), Catch::Contains("\nwithout VNNI not measured: engine openvino: none\n"));
  const Json json = parse_ordered_json(to_json(result)).at("portability");
  CHECK(json.at("loss").is_null());
  CHECK(json.at("failure") == "engine openvino: none");
  CHECK_THAT(to_text(compress_result({})), !Catch::Contains("VNNI"));
}

TEST_CASE("the report has the kernels of the result and how many of them compute in int8") {
  CHECK_THAT(notes_of(compress_result({})),
             Catch::VectorContains(std::string("20 of 21 layers are computed in int8: 20 x Convolution "
                                               "brgconv_avx512_I8, 1 x FullyConnected gemm_F32.")));
}

}  // namespace unstarve
