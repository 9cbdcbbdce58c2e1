#include "unstarve/diagnose/traces/operator_work.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace unstarve {
namespace {

constexpr std::array<std::string_view, 6> kMatrixOperators{
    "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::convolution", "aten::convolution_backward"};

double product(std::span<const std::int64_t> sizes) {
  double result = 1;
  for (const std::int64_t size : sizes) result *= static_cast<double>(size);
  return result;
}

// [..., M, K] times [..., K, N].
double of_product(const TensorShape& a, const TensorShape& b) {
  if (a.size() < 2 || b.size() != a.size() || a.back() != b[b.size() - 2]) return 0;
  return 2 * product(a) * static_cast<double>(b.back());
}

// "[2, 2]": {2, 2}; limited as sizes are, so that sums do not overflow.
std::vector<std::int64_t> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc()) numbers.push_back(std::clamp(number, -kLargestSize, kLargestSize));
    at = error == std::errc() ? next : at + 1;
  }
  return numbers;
}

// One size for all dimensions, or one for each.
std::int64_t size_at(const std::vector<std::int64_t>& sizes, std::size_t dimension, std::int64_t otherwise) {
  if (sizes.empty()) return otherwise;
  return sizes[std::min(dimension, sizes.size() - 1)];
}

// input, weight, bias, stride, padding, dilation, transposed, ...
double of_convolution(const OperatorArguments& call) {
  if (call.shapes.size() < 2 || call.values.size() < 7) return 0;
  const TensorShape &input = call.shapes[0], &weight = call.shapes[1];
  if (input.size() < 3 || weight.size() != input.size()) return 0;
  const double batch = static_cast<double>(input[0]);
  if (call.values[6] == "True") return 2 * batch * product(std::span(input).subspan(2)) * product(weight);
  const std::vector<std::int64_t> stride = numbers_of(call.values[3]), padding = numbers_of(call.values[4]),
                                  dilation = numbers_of(call.values[5]);
  double positions = 1;
  for (std::size_t i = 0; i + 2 < input.size(); ++i) {
    const std::int64_t covered = size_at(dilation, i, 1) * (weight[i + 2] - 1) + 1;
    const std::int64_t room = input[i + 2] + 2 * size_at(padding, i, 0) - covered;
    if (room < 0) return 0;
    positions *= static_cast<double>(room / std::max<std::int64_t>(size_at(stride, i, 1), 1) + 1);
  }
  return 2 * batch * positions * product(weight);
}

// gradient of the output, input, weight, bias sizes, stride, padding, dilation, transposed, output padding, groups,
// which gradients are computed
double of_convolution_backward(const OperatorArguments& call) {
  if (call.shapes.size() < 3 || call.values.size() < 11) return 0;
  const TensorShape& positions = call.shapes[call.values[7] == "True" ? 1 : 0];
  const TensorShape& weight = call.shapes[2];
  if (positions.size() < 3 || weight.size() != positions.size()) return 0;
  const std::string& mask = call.values[10];
  const std::size_t of_input = mask.starts_with("[True"), of_weight = mask.find("True", 2) < mask.rfind(',');
  return 2 * static_cast<double>(positions[0]) * product(std::span(positions).subspan(2)) * product(weight) *
         static_cast<double>(of_input + of_weight);
}

}  // namespace

bool is_matrix_operator(std::string_view name) {
  return std::ranges::find(kMatrixOperators, name) != kMatrixOperators.end();
}

double operations_of(std::string_view name, const OperatorArguments& arguments) {
  const std::vector<TensorShape>& shapes = arguments.shapes;
  if (name == "aten::convolution") return of_convolution(arguments);
  if (name == "aten::convolution_backward") return of_convolution_backward(arguments);
  if (!is_matrix_operator(name)) return 0;
  const std::size_t first = name == "aten::addmm" || name == "aten::baddbmm" ? 1 : 0;
  return shapes.size() >= first + 2 ? of_product(shapes[first], shapes[first + 1]) : 0;
}

bool is_aligned(std::string_view name, const OperatorArguments& arguments, std::int64_t multiple) {
  constexpr std::int64_t kMostOfImages = 4;  // libraries pad the channels of images
  const std::vector<TensorShape>& shapes = arguments.shapes;
  const bool convolution = name == "aten::convolution", backward = name == "aten::convolution_backward";
  if (convolution || backward) {
    const std::size_t first = backward ? 1 : 0;  // the input, then the weight
    if (shapes.size() < first + 2 || shapes[first].size() < 3 || shapes[first + 1].empty()) return true;
    const std::int64_t input = shapes[first][1], weight = shapes[first + 1][0];
    return (input <= kMostOfImages || input % multiple == 0) && weight % multiple == 0;
  }
  if (!is_matrix_operator(name)) return true;
  const std::size_t second = name == "aten::addmm" || name == "aten::baddbmm" ? 2 : 1;
  if (shapes.size() < second + 1 || shapes[second].size() < 2) return true;
  const TensorShape& b = shapes[second];
  return b[b.size() - 2] % multiple == 0 && b.back() % multiple == 0;
}

}  // namespace unstarve
