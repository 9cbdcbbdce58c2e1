#include "unstarve/infer/graph/infer_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "unstarve/core/error.h"

namespace unstarve::infer {
namespace {

class TypeInference {
 public:
  TypeInference(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  TensorType run() {
    check_form();
    for (const ValueId id : node_.inputs) inputs_.push_back(&graph_.values[id].type);
    TensorType result = result_type();
    if (!is_possible(result.shape))
      fail(fmt::format("its result has the shape {}", text_of(result.shape)),
           "dimensions of 1 or more, the batch size once, and at most 2^40 elements");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw Error(ErrorKind::kInput,
                fmt::format("node '{}' ({}): {}; expected {}", node_.name, name_of(node_.kind), found, expected));
  }
  [[noreturn]] void fail_input(std::size_t i, const std::string& expected) const {
    fail(fmt::format("input '{}' is {}", graph_.values[node_.inputs[i]].name, text_of(*inputs_[i])), expected);
  }

  template <class T>
  const T& attributes() const {
    return std::get<T>(node_.attributes);
  }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return inputs_[i]->shape; }
  [[nodiscard]] std::size_t rank(std::size_t i) const { return inputs_[i]->shape.size(); }

  void check_form() const {
    const OpInfo& info = info_of(node_.kind);
    if (node_.attributes.index() != info.attributes) fail("attributes of another operator", "its own");
    const auto count = static_cast<int>(node_.inputs.size());
    if (count < info.least_inputs || count > info.most_inputs)
      fail(fmt::format("found {} inputs", count), fmt::format("{} to {}", info.least_inputs, info.most_inputs));
  }

  TensorType result_type() const {
    switch (node_.kind) {
      case OpKind::kConv: return conv();
      case OpKind::kBatchNormalization: return batch_norm();
      case OpKind::kRelu:
      case OpKind::kClip:
      case OpKind::kSigmoid:
      case OpKind::kHardSigmoid:
      case OpKind::kHardSwish:
      case OpKind::kErf: return floating();
      case OpKind::kAdd:
      case OpKind::kSub:
      case OpKind::kMul:
      case OpKind::kDiv: return element_wise();
      case OpKind::kMaxPool:
      case OpKind::kAveragePool: return pool();
      case OpKind::kGlobalAveragePool:
      case OpKind::kGlobalMaxPool: return global_pool();
      case OpKind::kReduceMean: return reduce();
      case OpKind::kFlatten: return flatten();
      case OpKind::kReshape: return reshape();
      case OpKind::kTranspose: return transpose();
      case OpKind::kConcat: return concat();
      case OpKind::kPad: return pad();
      case OpKind::kGemm: return gemm();
      case OpKind::kMatMul: return matmul();
      case OpKind::kSoftmax: (void)axis(attributes<AxisAttributes>().axis, rank(0)); return floating();
      case OpKind::kIdentity:
      case OpKind::kDropout: return *inputs_[0];
      case OpKind::kCast: return {attributes<CastAttributes>().to, shape(0)};
      case OpKind::kQuantizeLinear: return quantize();
      case OpKind::kDequantizeLinear: return dequantize();
    }
    fail("an unknown kind", "one of this version");
  }

  TensorType floating() const {
    if (!is_float(inputs_[0]->element)) fail_input(0, "a floating type");
    return *inputs_[0];
  }

  std::size_t axis(std::int64_t number, std::size_t rank) const {
    const auto signed_rank = static_cast<std::int64_t>(rank);
    if (number < -signed_rank || number >= signed_rank)
      fail(fmt::format("found the axis {}", number), fmt::format("one of {} axes", rank));
    return static_cast<std::size_t>(number < 0 ? number + signed_rank : number);
  }

  // Images: N x C x H x W with known H and W.
  void check_images() const {
    if (rank(0) != 4) fail_input(0, "4 dimensions: batch, channels, height, width");
    for (const std::size_t i : {1, 2, 3})
      if (shape(0)[i] == kBatch) fail_input(0, "the batch size only as the first dimension");
  }
  void check_vector(std::size_t i, std::int64_t length) const {
    if (shape(i) != Shape{length}) fail_input(i, fmt::format("the shape [{}]", length));
    if (inputs_[i]->element != inputs_[0]->element) fail_input(i, "the type of the first input");
  }

  std::int64_t window_output(const Window& window, std::size_t i, std::int64_t input, bool ceil) const {
    const std::int64_t kernel = window.kernel[i], stride = window.strides[i], dilation = window.dilations[i];
    const std::int64_t before = window.pads[i], after = window.pads[i + 2];
    for (const std::int64_t number : {kernel, stride, dilation})
      if (number < 1 || number > kLargestWindow) fail(fmt::format("found {} in its window", number), "1 to 2^20");
    for (const std::int64_t number : {before, after})
      if (number < 0 || number > kLargestWindow) fail(fmt::format("found the padding {}", number), "0 to 2^20");
    const std::int64_t room = input + before + after - dilation * (kernel - 1) - 1;
    if (room < 0)
      fail(fmt::format("its window of {} exceeds the {} padded pixels of the input '{}'", dilation * (kernel - 1) + 1,
                       input + before + after, graph_.values[node_.inputs[0]].name),
           "a larger image");
    std::int64_t output = (ceil ? room + stride - 1 : room) / stride + 1;
    if (ceil && (output - 1) * stride >= input + before) --output;  // no window begins in the padding at the end
    return output;
  }

  TensorType conv() const {
    (void)floating();
    check_images();
    const auto& [window, groups] = attributes<ConvAttributes>();
    const Shape& weights = shape(1);
    if (weights.size() != 4 || !element_count(weights)) fail_input(1, "4 dimensions: out, in / groups, height, width");
    if (inputs_[1]->element != inputs_[0]->element) fail_input(1, "the type of the first input");
    if (window.kernel[0] != weights[2] || window.kernel[1] != weights[3])
      fail(fmt::format("found the kernel {} x {} and weights {}", window.kernel[0], window.kernel[1], text_of(weights)),
           "the same size");
    if (groups < 1 || groups > kLargestDimension || shape(0)[1] != weights[1] * groups || weights[0] % groups != 0)
      fail(fmt::format("found {} input channels, {} groups and weights {}", shape(0)[1], groups, text_of(weights)),
           "channels = groups * weights[1], and outputs divisible by groups");
    if (inputs_.size() == 3) check_vector(2, weights[0]);
    return {inputs_[0]->element,
            {shape(0)[0], weights[0], window_output(window, 0, shape(0)[2], false),
             window_output(window, 1, shape(0)[3], false)}};
  }

  TensorType batch_norm() const {
    (void)floating();
    if (rank(0) < 2 || shape(0)[1] == kBatch) fail_input(0, "a batch of vectors or images");
    for (std::size_t i = 1; i < inputs_.size(); ++i) check_vector(i, shape(0)[1]);
    return *inputs_[0];
  }

  TensorType element_wise() const {
    if (inputs_[0]->element != inputs_[1]->element) fail_input(1, fmt::format("{}", name_of(inputs_[0]->element)));
    return {inputs_[0]->element, broadcast(shape(0), shape(1))};
  }

  Shape broadcast(Shape a, Shape b) const {
    if (a.size() < b.size()) std::swap(a, b);
    b.insert(b.begin(), a.size() - b.size(), 1);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == 1) {
        a[i] = b[i];
      } else if (b[i] != 1 && a[i] != b[i]) {
        fail(fmt::format("found the shapes {} and {}", text_of(shape(0)), text_of(shape(1))),
             "shapes that can be broadcast");
      }
    }
    return a;
  }

  TensorType pool() const {
    (void)floating();
    check_images();
    const PoolAttributes& of = attributes<PoolAttributes>();
    if (node_.kind == OpKind::kAveragePool && of.window.dilations != std::array<std::int64_t, 2>{1, 1})
      fail("found dilations", "none");
    const std::int64_t rows = window_output(of.window, 0, shape(0)[2], of.ceil);
    const std::int64_t columns = window_output(of.window, 1, shape(0)[3], of.ceil);
    for (const std::size_t i : {0, 1}) {
      const std::int64_t largest = std::max(of.window.pads[i], of.window.pads[i + 2]);
      if (largest >= of.window.kernel[i] * of.window.dilations[i])
        fail(fmt::format("found the padding {} and the kernel {}", largest, of.window.kernel[i]), "a smaller padding");
    }
    return {inputs_[0]->element, {shape(0)[0], shape(0)[1], rows, columns}};
  }

  TensorType global_pool() const {
    (void)floating();
    check_images();
    return {inputs_[0]->element, {shape(0)[0], shape(0)[1], 1, 1}};
  }

  TensorType reduce() const {
    (void)floating();
    const auto& [axes, keep] = attributes<ReduceAttributes>();
    std::vector<bool> reduced(rank(0), axes.empty());
    for (const std::int64_t number : axes) reduced[axis(number, rank(0))] = true;
    Shape result;
    for (std::size_t i = 0; i < rank(0); ++i) {
      if (!reduced[i]) result.push_back(shape(0)[i]);
      if (reduced[i] && keep) result.push_back(1);
    }
    return {inputs_[0]->element, result};
  }

  // The product of some dimensions, of which one may be the batch size.
  std::int64_t product(const Shape& dimensions) const {
    std::int64_t result = 1;
    bool batch = false;
    for (const std::int64_t dimension : dimensions) {
      if (dimension == kBatch) {
        batch = true;
      } else {
        result *= dimension;
      }
    }
    if (batch && result != 1)
      fail(fmt::format("a dimension of its result is batch * {}", result),
           "a fixed batch size in the file of the model");
    return batch ? kBatch : result;
  }

  TensorType flatten() const {
    const std::int64_t number = attributes<AxisAttributes>().axis;
    const std::size_t split = number == static_cast<std::int64_t>(rank(0)) ? rank(0) : axis(number, rank(0));
    const auto middle = shape(0).begin() + static_cast<std::ptrdiff_t>(split);
    return {inputs_[0]->element, {product({shape(0).begin(), middle}), product({middle, shape(0).end()})}};
  }

  TensorType reshape() const {
    Shape result = attributes<ReshapeAttributes>().shape;
    const Shape& from = shape(0);
    std::int64_t known = 1;    // of the result, without the batch size
    std::ptrdiff_t rest = -1;  // index of -1
    bool batch = false;        // whether the result has the batch size
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (result[i] == -1) {
        if (rest >= 0) fail("found two dimensions -1", "one");
        rest = static_cast<std::ptrdiff_t>(i);
        continue;
      }
      if (result[i] == 0) {
        if (i >= from.size())
          fail(fmt::format("dimension {} is taken from the input {}", i, text_of(from)), "an existing dimension");
        result[i] = from[i];
        if (result[i] == kBatch) {
          batch = true;
          continue;
        }
      }
      if (result[i] < 1 || result[i] > kLargestDimension || known > kMostElements / result[i])
        fail(fmt::format("found the dimension {}", result[i]), "1 or more, and at most 2^40 elements");
      known *= result[i];
    }
    std::int64_t elements = 1;  // of the input, without the batch size
    bool from_batch = false;
    for (const std::int64_t dimension : from) {
      if (dimension == kBatch) {
        from_batch = true;
      } else {
        elements *= dimension;
      }
    }
    const std::string shapes =
        fmt::format("it changes {} to {}", text_of(from), text_of(attributes<ReshapeAttributes>().shape));
    const bool rest_is_batch = rest >= 0 && from_batch && !batch;
    if (rest_is_batch) {
      if (known != elements) fail(shapes, "a result whose remaining dimension is the batch size");
      result[static_cast<std::size_t>(rest)] = kBatch;
    } else if (rest >= 0) {
      if (elements % known != 0) fail(shapes, "the same number of elements");
      result[static_cast<std::size_t>(rest)] = elements / known;
    } else if (from_batch != batch) {
      fail(shapes + ", which fixes the batch size", "a fixed batch size of the input too, or -1 for that dimension");
    } else if (known != elements) {
      fail(shapes, "the same number of elements");
    }
    return {inputs_[0]->element, result};
  }

  TensorType transpose() const {
    const std::vector<std::int64_t>& order = attributes<TransposeAttributes>().order;
    std::vector<bool> used(rank(0), false);
    Shape result;
    for (const std::int64_t number : order) {
      const std::size_t from = axis(number, rank(0));
      if (used[from]) fail(fmt::format("found the axis {} twice", number), "each axis once");
      used[from] = true;
      result.push_back(shape(0)[from]);
    }
    if (order.size() != rank(0)) fail(fmt::format("found {} axes", order.size()), fmt::format("{}", rank(0)));
    return {inputs_[0]->element, result};
  }

  TensorType concat() const {
    const std::size_t along = axis(attributes<AxisAttributes>().axis, rank(0));
    Shape result = shape(0);
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      Shape other = shape(i);
      if (other.size() != result.size() || inputs_[i]->element != inputs_[0]->element)
        fail_input(i, fmt::format("the rank and type of {}", text_of(*inputs_[0])));
      const std::int64_t length = std::exchange(other[along], result[along]);
      if (other != result)
        fail_input(i, fmt::format("the shape of {} except for axis {}", text_of(*inputs_[0]), along));
      if (length == kBatch || result[along] == kBatch) fail_input(i, "a known length of the joined axis");
      result[along] += length;
    }
    return {inputs_[0]->element, result};
  }

  TensorType pad() const {
    (void)floating();
    const PadAttributes& of = attributes<PadAttributes>();
    if (of.pads.size() != 2 * rank(0))
      fail(fmt::format("found {} pads", of.pads.size()), fmt::format("{}", 2 * rank(0)));
    Shape result = shape(0);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::int64_t before = of.pads[i], after = of.pads[i + result.size()];
      if (before == 0 && after == 0) continue;
      for (const std::int64_t number : {before, after}) {
        if (number < 0 || number > kLargestWindow) fail(fmt::format("found the padding {}", number), "0 to 2^20");
        if (of.mode == PadMode::kReflect && number >= result[i])
          fail(fmt::format("it reflects {} of {} elements", number, result[i]), "a smaller padding");
      }
      if (result[i] == kBatch) fail("it pads the batch", "padding of other axes");
      result[i] += before + after;
    }
    return {inputs_[0]->element, result};
  }

  TensorType gemm() const {
    (void)floating();
    const GemmAttributes& of = attributes<GemmAttributes>();
    if (rank(0) != 2) fail_input(0, "a matrix");
    if (rank(1) != 2 || inputs_[1]->element != inputs_[0]->element) fail_input(1, "a matrix of the same type");
    const std::int64_t rows = shape(0)[of.transpose_a ? 1 : 0], inner = shape(0)[of.transpose_a ? 0 : 1];
    const std::int64_t columns = shape(1)[of.transpose_b ? 0 : 1];
    check_inner(inner, shape(1)[of.transpose_b ? 1 : 0]);
    const Shape result{rows, columns};
    if (inputs_.size() == 3) {
      if (inputs_[2]->element != inputs_[0]->element) fail_input(2, "the type of the first input");
      if (broadcast(result, shape(2)) != result) fail_input(2, fmt::format("a shape that fits {}", text_of(result)));
    }
    return {inputs_[0]->element, result};
  }

  void check_inner(std::int64_t a, std::int64_t b) const {
    if (a == kBatch || a != b)
      fail(fmt::format("found the shapes {} and {}", text_of(shape(0)), text_of(shape(1))), "the same inner dimension");
  }

  TensorType matmul() const {
    (void)floating();
    if (inputs_[1]->element != inputs_[0]->element) fail_input(1, "the type of the first input");
    if (rank(0) < 2) fail_input(0, "2 dimensions or more");
    if (rank(1) < 2) fail_input(1, "2 dimensions or more");
    Shape a = shape(0), b = shape(1);
    check_inner(a.back(), b[b.size() - 2]);
    const std::int64_t rows = a[a.size() - 2], columns = b.back();
    a.resize(a.size() - 2);
    b.resize(b.size() - 2);
    Shape result = broadcast(a, b);
    result.insert(result.end(), {rows, columns});
    return {inputs_[0]->element, result};
  }

  // Of quantisation: one for the tensor, or one for each index of the axis.
  void check_scale(std::size_t i) const {
    if (shape(i).empty() || shape(i) == Shape{1}) return;
    const std::size_t along = axis(attributes<AxisAttributes>().axis, rank(0));
    if (shape(i) != Shape{shape(0)[along]})
      fail_input(i, fmt::format("a scalar, or one value for each index of axis {}", along));
  }

  TensorType quantize() const {
    if (inputs_[0]->element != ElementType::kFloat32) fail_input(0, "float32");
    if (inputs_[1]->element != ElementType::kFloat32) fail_input(1, "float32");
    check_scale(1);
    if (inputs_.size() < 3) return {ElementType::kUint8, shape(0)};
    const ElementType to = inputs_[2]->element;
    if (to != ElementType::kInt8 && to != ElementType::kUint8) fail_input(2, "int8 or uint8");
    if (shape(2) != shape(1)) fail_input(2, "the shape of the scale");
    return {to, shape(0)};
  }

  TensorType dequantize() const {
    const ElementType from = inputs_[0]->element;
    if (from != ElementType::kInt8 && from != ElementType::kUint8 && from != ElementType::kInt32)
      fail_input(0, "int8, uint8 or int32");
    if (inputs_[1]->element != ElementType::kFloat32) fail_input(1, "float32");
    check_scale(1);
    if (inputs_.size() == 3) {
      if (inputs_[2]->element != from) fail_input(2, "the type of the first input");
      if (shape(2) != shape(1)) fail_input(2, "the shape of the scale");
    }
    return {ElementType::kFloat32, shape(0)};
  }

  const Graph& graph_;
  const Node& node_;
  std::vector<const TensorType*> inputs_;
};

}  // namespace

TensorType infer_type(const Graph& graph, const Node& node) { return TypeInference(graph, node).run(); }

}  // namespace unstarve::infer
