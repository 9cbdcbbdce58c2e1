#include "unstarve/pipeline/spec/spec_yaml.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/pipeline/spec/spec_document.h"
#include "unstarve/pipeline/spec/yaml_map.h"

namespace unstarve {
namespace {

PipelineSpec round_trip(const PipelineSpec& spec) {
  YAML::Emitter out;
  write_yaml(out, spec);
  return pipeline_from_yaml(out.c_str(), "test.yaml");
}

PipelineSpec read(const std::string& text) { return pipeline_from_yaml(text, "p.yaml"); }

TEST_CASE("a spec survives a round trip through YAML") {
  PipelineSpec spec;
  CHECK(round_trip(spec) == spec);
  spec.source = {"a \"quoted\": path # with: all", "train"};
  spec.order = {false, 0xffffffffffffffffULL, 3, 8};
  spec.decode = {1'000'000};
  spec.operations = training_operations(224, {500, 375});
  spec.operations.push_back({"random_resized_crop", {{"size", {176}}, {"scale", {0.35, 1.0 / 3}}}});
  spec.operations.push_back({"resize", {{"size", {8}}, {"interpolation", {"bicubic"}}, {"antialias", {"false"}}}});
  spec.output = {ElementType::kBfloat16, Layout::kNhwc, kImagenetNormalisation};
  spec.batch = {77, LastBatch::kPad, {PadTo::kSize, {320, 240}, 114}, {5000, 250}};
  spec.batch_operations = {{"label_smoothing", {{"epsilon", {0.1}}}}, {"mixup", {}}};
  spec.execution = {5, 0, false, 12};
  spec.cache = {CacheWhat::kPixels, "a folder", 77, 3};
  spec.errors = {OnError::kReplace, 12, 1.0 / 3};
  spec.passes = {{"cache", true}, {"scan_index", false}};
  CHECK(round_trip(spec) == spec);
  spec.device = {"cuda:1", OperationsOn::kDevice, DecodeOn::kGpuHybrid, 1.0 / 3};
  CHECK(round_trip(spec) == spec);
  spec.device = {"cpu", OperationsOn::kDevice, DecodeOn::kHost, {}};
  CHECK(round_trip(spec) == spec);
  spec.cache.what = CacheWhat::kAuto;
  CHECK(round_trip(spec) == spec);
}

TEST_CASE("source, mix and order survive a round trip through YAML") {
  PipelineSpec spec;
  spec.source = {.path = "photos", .split = "", .labels = "kind", .index = IndexLocation::kNextToData};
  spec.source.subset = "0-99,105";
  spec.source.part = {3, 50, 9};
  spec.source.filter = {{"cat", "3"}, {"a \"dog\": x"}, 64, 4096, 2.5};
  spec.source.take = 1000;
  spec.order.sample_weights = "weights.npy";
  spec.order.window = 5000;
  spec.order.repeat = 3;
  spec.order.epoch = 12'345'678'901ULL;
  spec.order.balance = true;
  spec.order.class_weights = {{"cat", 2.5}, {"7", 0}};
  CHECK(round_trip(spec) == spec);
  spec.source = {};
  spec.mix = {{"a", "train"}, {"b", ""}};
  spec.mix[0].weight = 0.7;
  spec.mix[1].filter = {{}, {"other"}, 0, 0, 0};
  spec.mix[1].take = 5;
  spec.mix[1].weight = 1.0 / 3;
  CHECK(round_trip(spec) == spec);
  spec.mix[0].earlier_weights = {0.1, 2.0 / 3};
  spec.mix[1].earlier_weights = {5, 0};
  CHECK(round_trip(spec) == spec);
  spec.mix = {{"a", "train"}, {"b", ""}};
  CHECK(round_trip(spec) == spec);
  CHECK(read("source: {path: a, filter: {labels: [cat, 3]}}").source.filter.labels ==
        std::vector<std::string>{"cat", "3"});
  CHECK_THROWS_WITH(read("mix: {path: a}"), Catch::Contains("p.yaml.mix: line 1: expected a list"));
  CHECK_THROWS_WITH(read("mix: [{path: a}, {pat: b}]"), Catch::Contains("p.yaml.mix[1].pat: line 1: unknown key"));
  CHECK_THROWS_WITH(read("source: {filter: {labels: {a: 1}}}"), Catch::Contains("expected a list of texts"));
  CHECK_THROWS_WITH(read("source: {weight: 1}"), Catch::Contains("source.weight") && Catch::Contains("known keys"));
  CHECK_THROWS_WITH(read("source: {take: -1}"), Catch::Contains("source.take") && Catch::Contains("0 or more"));
  CHECK_THROWS_WITH(read("order: {class_weights: {cat: many}}"), Catch::Contains("order.class_weights.cat"));
}

TEST_CASE("numbers that are not finite survive a round trip through YAML") {
  const std::string text = to_yaml(read("output: {mean: [.nan, .inf, -.inf]}\noperations: [{resize: {size: .nan}}]"));
  CHECK_THAT(text, Catch::Contains("mean: [.nan, .inf, -.inf]") && Catch::Contains("size: .nan"));
  CHECK(to_yaml(read(text)) == text);
}

TEST_CASE("missing keys keep their defaults") { CHECK(read("batch: {size: 8}").execution == ExecutionSpec{}); }

TEST_CASE("an operation without parameters may be a bare name") {
  CHECK(read("operations:\n  - horizontal_flip\n").operations == std::vector<OpSpec>{{"horizontal_flip", {}}});
}

TEST_CASE("a duplicate key is rejected") {
  CHECK_THROWS_WITH(read("batch: {size: 4}\norder: {}\nbatch: {size: 8}"),
                    Catch::Equals("p.yaml.batch: line 3: found a second time, first on line 1; expected once"));
  CHECK_THROWS_WITH(read("batch: {size: 4, sise: 3, size: 8}\norder: {sead: 3}"),
                    Catch::Contains("p.yaml.batch.size: line 1: found a second time") &&
                        Catch::Contains("p.yaml.batch.sise: line 1: unknown key") &&
                        Catch::Contains("p.yaml.order.sead: line 2: unknown key"));
  CHECK_THROWS_WITH(read("mix:\n  - path: a\n    split: b\n    \"path\": c"),
                    Catch::Contains("p.yaml.mix[0].path: line 4: found a second time, first on line 2"));
  CHECK_THROWS_WITH(read("operations:\n  - resize: {size: 8, size: 9}"),
                    Catch::Contains("p.yaml.operations[0].resize.size: line 2"));
  CHECK_THROWS_WITH(read("operations:\n  - resize: {size: {schedule: {0: 8, \"0\": 9}}}"),
                    Catch::Contains("resize.size.schedule.0: line 2"));
  CHECK_THROWS_WITH(read("operations:\n  - resize: {size: {schedule: {0: 8, 00: 9}}}"),
                    Catch::Contains("resize.size.schedule.00: line 2: found epoch 0 twice"));
}

TEST_CASE("errors name path, line, found and expected values") {
  CHECK_THROWS_WITH(read("batch:\n  size: many"),
                    Catch::Contains("p.yaml.batch.size: line 2: found \"many\"; expected a whole number"));
  CHECK_THROWS_WITH(read("batch: {sise: 3}"),
                    Catch::Contains("p.yaml.batch.sise") && Catch::Contains("known keys: bucket, last, pad, size"));
  CHECK_THROWS_WITH(read("output: {type: int7}"), Catch::Contains("found \"int7\"") && Catch::Contains("bfloat16"));
  CHECK_THROWS_WITH(read("output: {mean: [1, 2]}"), Catch::Contains("found [1, 2]; expected 3 numbers"));
  CHECK_THROWS_WITH(read("device: {operations: gpu}"),
                    Catch::Contains("p.yaml.device.operations: line 1: found \"gpu\"; expected one of host, device"));
  CHECK_THROWS_WITH(read("device: {decode: nvjpeg}"),
                    Catch::Contains("device.decode") && Catch::Contains("host, hybrid, gpu_hybrid, hardware"));
  CHECK_THROWS_WITH(read("passes: {\"\\xff\": true}"), Catch::Contains("lower-case"));
  CHECK_THROWS_WITH(read("operations: 3"), Catch::Contains("expected a list"));
  CHECK_THROWS_WITH(read("operations: [[1]]"), Catch::Contains("entry 0"));
  CHECK_THROWS_WITH(read("batch: 3"), Catch::Contains("expected a mapping"));
  CHECK_THROWS_WITH(read("a: [1, 2"), Catch::Contains("not YAML"));
  CHECK_THROWS_AS(read("order: {seed: -1}"), Error);
}

TEST_CASE("values out of range and faulty operations are listed together") {
  const std::string text =
      "source: {path: photos}\n"
      "operations:\n"
      "  - random_resized_crop: {size: -3}\n"
      "  - horizontal_flop\n"
      "  - rotation: {degrees: 400}\n"
      "batch: {size: -16}\n"
      "execution: {threads: -1}\n";
  const std::string message = testing::error_message([&] { return read_spec_document(text, "p.yaml"); });
  for (const char* const node : {"operations[0]: line 3", "operations[1]: line 4", "operations[2]: line 5",
                                 "batch.size: line 6", "execution.threads: line 7"})
    CHECK_THAT(message, Catch::Contains(std::string("p.yaml.") + node));
}

TEST_CASE("all faults of a pipeline are listed, a line each") {
  const char* const text =
      "source: {take: -1, path: photos}\n"
      "operations:\n"
      "  - resize: {size: {schedule: {a: 8}}}\n"
      "  - resize: {size: {schedule: {b: 8}}}\n"
      "batch: {size: many, sise: 3}\n"
      "output: {type: int7, mean: [1, 2]}\n"
      "execution: 3\n";
  const std::vector<std::string> nodes{"source.take: line 1",
                                       "operations[0].resize.size.schedule.a: line 3",
                                       "operations[1].resize.size.schedule.b: line 4",
                                       "batch.size: line 5",
                                       "batch.sise: line 5",
                                       "output.type: line 6",
                                       "output.mean: line 6",
                                       "execution: line 7"};
  try {
    (void)read(text);
    FAIL("no error");
  } catch (const Error& error) {
    const std::string message = error.what();
    CHECK(std::ranges::count(message, '\n') == static_cast<std::ptrdiff_t>(nodes.size()) - 1);
    for (const std::string& node : nodes) CHECK_THAT(message, Catch::Contains("p.yaml." + node));
  }
  // Ranges, too, of the nodes that could be read.
  CHECK_THROWS_WITH(read_spec_document("source: {path: photos}\nbatch: {size: 0}\noutput: {type: int7}", "p.yaml"),
                    Catch::Contains("batch.size: line 2") && Catch::Contains("output.type: line 3"));
}

TEST_CASE("a pipeline of uint8 pixels has no normalisation, but that of a network's settings may have one") {
  const auto document = [](const std::string& text) { return read_spec_document(text, "p.yaml").pipeline.output; };
  for (const char* const constants : {"mean: [0.5, 0.5, 0.5]", "std: [0.2, 0.2, 0.2]"}) {
    const std::string output = fmt::format("source: {{path: photos}}, output: {{{}, type: ", constants);
    CHECK_THROWS_WITH(document("{" + output + "uint8}}"),
                      Catch::StartsWith("p.yaml.output.type: line 1: uint8 with output.mean or output.std") &&
                          Catch::Contains("expected float32, bfloat16 or float16"));
    CHECK(document("{" + output + "float16}}").type == ElementType::kFloat16);
    CHECK(document("{unstarve: 1, pipeline: {" + output + "uint8}}}").normalisation != Normalisation{});
  }
  CHECK(document("output: {type: uint8, mean: [0, 0, 0], std: [1, 1, 1]}").type == ElementType::kUint8);
}

}  // namespace
}  // namespace unstarve
