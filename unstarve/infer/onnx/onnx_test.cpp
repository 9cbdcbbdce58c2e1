#include <catch2/catch.hpp>

#include <fstream>
#include <limits>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/onnx/proto.h"
#include "unstarve/infer/onnx/read_onnx.h"
#include "unstarve/infer/onnx/wire.h"
#include "unstarve/infer/onnx/write_onnx.h"
#include "unstarve/infer/testing/small_graph.h"
#include "unstarve/storage/bytes/wire_writer.h"

namespace unstarve::infer {
namespace {

using unstarve::testing::error_message;

std::span<const std::uint8_t> bytes_of_text(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

Graph read_back(const Graph& graph) { return read_onnx(bytes_of_text(format_onnx(graph)), "m.onnx"); }

// A graph with every operator that has attributes, and both kinds of dimensions.
Graph every_operator() {
  Graph graph;
  const ValueId x = graph.add_input("x", {ElementType::kFloat32, {kBatch, 4, 9, 9}});
  const auto constant = [&](const char* name, Shape shape) {
    const auto count = static_cast<std::size_t>(element_count(shape).value());
    return graph.add_constant(name, make_tensor(std::move(shape), testing::ramp(count, 0.5F, 0.25F)));
  };
  const Window window{{3, 2}, {2, 1}, {1, 2}, {1, 0, 2, 1}};
  ValueId at = graph.add_node("conv", OpKind::kConv, {x, constant("w", {6, 2, 3, 2}), constant("b", {6})},
                              ConvAttributes{window, 2});
  at = graph.add_node("norm", OpKind::kBatchNormalization,
                      {at, constant("bn.s", {6}), constant("bn.b", {6}), constant("bn.m", {6}), constant("bn.v", {6})},
                      NormAttributes{0.25F});
  at = graph.add_node("relu", OpKind::kRelu, {at});
  at = graph.add_node("clip", OpKind::kClip, {at}, ClipAttributes{0, 6});
  at = graph.add_node("upper", OpKind::kClip, {at}, ClipAttributes{.high = 5});
  at = graph.add_node("sigmoid", OpKind::kSigmoid, {at});
  at = graph.add_node("hard_sigmoid", OpKind::kHardSigmoid, {at}, HardSigmoidAttributes{0.25F, 0.75F});
  at = graph.add_node("hard_swish", OpKind::kHardSwish, {at});
  at = graph.add_node("erf", OpKind::kErf, {at});
  const ValueId number = constant("number", {});
  for (const OpKind kind : {OpKind::kAdd, OpKind::kSub, OpKind::kMul, OpKind::kDiv})
    at = graph.add_node(std::string(name_of(kind)), kind, {at, number});
  at = graph.add_node("pad", OpKind::kPad, {at}, PadAttributes{{0, 0, 1, 2, 0, 0, 0, 1}, PadMode::kConstant, 0.5F});
  at = graph.add_node("reflect", OpKind::kPad, {at}, PadAttributes{{0, 0, 1, 1, 0, 0, 1, 1}, PadMode::kReflect, 0});
  at = graph.add_node("max", OpKind::kMaxPool, {at}, PoolAttributes{{{2, 2}, {1, 2}, {2, 1}, {1, 0, 1, 0}}, true});
  at = graph.add_node("average", OpKind::kAveragePool, {at},
                      PoolAttributes{{{2, 2}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, false, true});
  const ValueId means = graph.add_node("mean", OpKind::kReduceMean, {at}, ReduceAttributes{{2, 3}, false});
  const ValueId mean_image = graph.add_node("global_mean", OpKind::kGlobalAveragePool, {at});
  const ValueId maxima = graph.add_node("global_max", OpKind::kGlobalMaxPool, {at});
  const ValueId flat = graph.add_node("flat", OpKind::kFlatten, {mean_image}, AxisAttributes{1});
  const ValueId rows = graph.add_node("rows", OpKind::kReshape, {maxima}, ReshapeAttributes{{-1, 6}});
  at = graph.add_node("joined", OpKind::kConcat, {means, flat, rows}, AxisAttributes{1});
  at = graph.add_node("gemm", OpKind::kGemm, {at, constant("fc", {5, 18}), constant("fb", {5})},
                      GemmAttributes{0.5F, 2, false, true});
  at = graph.add_node("product", OpKind::kMatMul, {at, constant("matrix", {5, 3})});
  at = graph.add_node("turned", OpKind::kTranspose, {at}, TransposeAttributes{{1, 0}});
  at = graph.add_node("back", OpKind::kTranspose, {at}, TransposeAttributes{{1, 0}});
  at = graph.add_node("dropout", OpKind::kDropout, {at});
  const ValueId zero = graph.add_constant("zero", {{ElementType::kInt8, {}}, {3}});
  at = graph.add_node("quantised", OpKind::kQuantizeLinear, {at, number, zero}, AxisAttributes{1});
  at = graph.add_node("real", OpKind::kDequantizeLinear, {at, number, zero}, AxisAttributes{1});
  at = graph.add_node("half", OpKind::kCast, {at}, CastAttributes{ElementType::kFloat16});
  at = graph.add_node("whole", OpKind::kCast, {at}, CastAttributes{ElementType::kFloat32});
  at = graph.add_node("softmax", OpKind::kSoftmax, {at}, AxisAttributes{-1});
  graph.outputs = {graph.add_node("y", OpKind::kIdentity, {at})};
  return graph;
}

// A model of one node "n" that reads "x" [2, 3, 8, 8] and constants, as messages.
class ModelWriter {
 public:
  WireWriter graph;
  std::int64_t opset = 17;

  void add_input(const std::string& name, const std::vector<std::int64_t>& shape) {
    WireWriter dims, tensor, type, value;
    for (const std::int64_t length : shape) {
      WireWriter dimension;
      if (length > 0) dimension.integer(1, length);
      dims.message(1, dimension);
    }
    tensor.integer(1, 1);
    tensor.message(2, dims);
    type.message(1, tensor);
    value.bytes(1, name);
    value.message(2, type);
    graph.message(11, value);
  }
  void add_node(const std::string& kind, const std::vector<std::string>& inputs,
                const std::vector<WireWriter>& attributes = {}) {
    WireWriter node;
    for (const std::string& input : inputs) node.bytes(1, input);
    node.bytes(2, std::string_view("y"));
    node.bytes(3, std::string_view("n"));
    node.bytes(4, kind);
    for (const WireWriter& attribute : attributes) node.message(5, attribute);
    graph.message(1, node);
  }
  static WireWriter integers(const std::string& name, const std::vector<std::int64_t>& values) {
    WireWriter attribute;
    attribute.bytes(1, name);
    for (const std::int64_t value : values) attribute.integer(8, value);
    return attribute;
  }
  [[nodiscard]] std::string error() const {
    WireWriter output, with_output = graph, version, model;
    output.bytes(1, std::string_view("y"));
    with_output.message(12, output);
    version.integer(2, opset);
    model.message(8, version);
    model.message(7, with_output);
    return error_message([&] { (void)read_onnx(bytes_of_text(model.text()), "m.onnx"); });
  }
};

}  // namespace

TEST_CASE("the normalisation of the images is part of the file, if it is known") {
  Graph graph = every_operator();
  CHECK_FALSE(read_back(graph).normalisation);
  CHECK_FALSE(read_onnx_normalisation(bytes_of_text(format_onnx(graph)), "m.onnx"));
  graph.normalisation = kCifar10Normalisation;
  const std::string file = format_onnx(graph);
  CHECK(read_back(graph).normalisation == kCifar10Normalisation);
  CHECK(read_onnx_normalisation(bytes_of_text(file), "m.onnx") == kCifar10Normalisation);
  std::string damaged = file;
  damaged.replace(damaged.find("0.4914"), 6, "0,4914");
  const std::string expected =
      "read 'm.onnx': found \"0,4914 0.4822 0.4465 0.247 0.2435 0.2616\" as unstarve.normalisation; expected three "
      "means "
      "and three positive standard deviations";
  CHECK(error_message([&] { (void)read_onnx_normalisation(bytes_of_text(damaged), "m.onnx"); }) == expected);
  CHECK(error_message([&] { (void)read_onnx(bytes_of_text(damaged), "m.onnx"); }) == expected);
}

TEST_CASE("a graph with every operator is read back as it was") {
  const Graph graph = every_operator();
  REQUIRE(violation(graph) == "");
  const Graph back = read_back(graph);
  CHECK(format_onnx(back) == format_onnx(graph));
  REQUIRE(back.nodes.size() == graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    CAPTURE(graph.nodes[i].name);
    CHECK(back.nodes[i].name == graph.nodes[i].name);
    CHECK(back.nodes[i].kind == graph.nodes[i].kind);
    CHECK(back.value(back.nodes[i].output).type == graph.value(graph.nodes[i].output).type);
  }
  CHECK(back.value(back.inputs[0]).type.shape == Shape{kBatch, 4, 9, 9});
}

TEST_CASE("every truncation and every changed byte of a file is read or rejected with its name") {
  const std::string file = format_onnx(testing::small_network());
  int rejected = 0;
  const auto read = [&](const std::string& changed) {
    try {
      const Graph graph = read_onnx(bytes_of_text(changed), "m.onnx");
      CHECK(violation(graph).empty());
    } catch (const Error& error) {
      ++rejected;
      CHECK(error.kind() == ErrorKind::kInput);
      CHECK(std::string(error.what()).starts_with("read 'm.onnx': "));
    }
  };
  for (std::size_t size = 0; size < file.size(); ++size) read(file.substr(0, size));
  CHECK(rejected > static_cast<int>(file.size()) * 9 / 10);
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    read(changed);
  }
}

TEST_CASE("numbers are read packed and one by one, up to 64 bits") {
  WireWriter writer;
  writer.integer(1, -1);
  writer.integer(1, std::numeric_limits<std::int64_t>::min());
  writer.bytes(1, std::string_view("\x05\xac\x02", 3));
  WireReader reader(bytes_of_text(writer.text()), {"ONNX model", bytes_of_text(writer.text()).data()});
  std::vector<std::int64_t> numbers;
  for (WireField field; reader.next(field);) append_integers(field, numbers);
  CHECK(numbers == std::vector<std::int64_t>{-1, std::numeric_limits<std::int64_t>::min(), 5, 300});
}

TEST_CASE("malformed fields are rejected with their offset") {
  const auto error_of = [](std::string_view bytes) {
    return error_message([&] { (void)parse_proto(bytes_of_text(std::string(bytes))); });
  };
  CHECK(error_of("\x08") == "invalid ONNX model: truncated inside a number (at offset 1)");
  CHECK(error_of("\x3a\x05xx") == "invalid ONNX model: a field declares 5 bytes, the record contains 2 (at offset 2)");
  CHECK(error_of("\x0b") == "invalid ONNX model: wire type 3 is unknown (at offset 1)");
  CHECK(error_of(std::string_view("\x00", 1)) == "invalid ONNX model: a field has no valid number (at offset 1)");
  CHECK(error_of(std::string(11, '\xff')) == "invalid ONNX model: a number has more than 10 bytes (at offset 10)");
  CHECK(error_of("\x38\x01") == "field 7 has no length at offset 0; expected text or a message");
  CHECK(error_of("") == "found no graph; expected an ONNX model");
}

TEST_CASE("invalid models give errors that name the node") {
  ModelWriter model;
  model.add_input("x", {2, 3, 8, 8});
  SECTION("an undefined input") {
    model.add_node("Relu", {"z"});
    CHECK(model.error() ==
          "read 'm.onnx': node 'n' (Relu): input 0 is 'z', which is not computed before; expected an "
          "input, a constant or the first output of an earlier node");
  }
  SECTION("two definitions") {
    model.add_node("Relu", {"x"});
    model.add_node("Relu", {"x"});
    CHECK(model.error() == "read 'm.onnx': 'y' is defined twice; expected unique names");
  }
  SECTION("an attribute that the operator does not have") {
    model.add_node("Relu", {"x"}, {ModelWriter::integers("axes", {1})});
    CHECK(model.error() ==
          "read 'm.onnx': found 1 unsupported operator: Relu with the attribute axes (node 'n'); expected only "
          "those of the reference \"Model files\" (docs/reference/models.md)");
  }
  SECTION("a window larger than the image") {
    model.add_node("MaxPool", {"x"}, {ModelWriter::integers("kernel_shape", {9, 9})});
    CHECK(model.error() ==
          "read 'm.onnx': node 'n' (MaxPool): its window of 9 exceeds the 8 padded pixels of the "
          "input 'x'; expected a larger image");
  }
  SECTION("one axis instead of two") {
    model.add_node("MaxPool", {"x"}, {ModelWriter::integers("kernel_shape", {2})});
    CHECK_THAT(model.error(), Catch::Contains("MaxPool with 1 values of kernel_shape, not 2 (node 'n')"));
  }
  SECTION("numbers that would overflow") {
    const std::int64_t large = std::numeric_limits<std::int64_t>::max();
    model.add_node("MaxPool", {"x"},
                   {ModelWriter::integers("kernel_shape", {large, large}), ModelWriter::integers("strides", {1, 1})});
    CHECK_THAT(model.error(), Catch::Contains("in its window; expected 1 to 2^20"));
  }
  SECTION("another opset") {
    model.opset = 29;
    CHECK(model.error() == "read 'm.onnx': found opset 29; expected 13 to 28. Convert it with onnx.version_converter");
  }
}

TEST_CASE("only the batch size may be open, and the error names the dimension") {
  ModelWriter model;
  model.add_input("x", {0, 0, 8, 8});
  model.add_node("Relu", {"x"});
  CHECK(model.error() ==
        "read 'm.onnx': dimension 1 of input 'x' is open (''); expected a number, because only the "
        "batch size may be open. Export the model with a fixed size");
}

// Writes the seeds of fuzz/corpus/onnx: run it by name.
TEST_CASE("write the seeds of the corpus", "[.seeds]") {
  const auto write = [](const char* name, const std::string& bytes) {
    std::ofstream("fuzz/corpus/onnx/" + std::string(name), std::ios::binary) << bytes;
  };
  write("every_operator", format_onnx(every_operator()));
  write("small_network", format_onnx(testing::small_network()));
}

}  // namespace unstarve::infer
