#include "unstarve/torch/common/graph_checkpoint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "unstarve/core/base64.h"
#include "unstarve/core/error.h"
#include "unstarve/infer/graph/structure.h"
#include "unstarve/infer/onnx/read_onnx.h"
#include "unstarve/infer/onnx/write_onnx.h"

namespace unstarve {
namespace {

constexpr const char* kLimitsName = "quantisation.limits";
constexpr std::array<std::pair<std::string_view, infer::ElementType>, 7> kStoredTypes{
    {{"F32", infer::ElementType::kFloat32},
     {"F16", infer::ElementType::kFloat16},
     {"BF16", infer::ElementType::kBfloat16},
     {"I8", infer::ElementType::kInt8},
     {"U8", infer::ElementType::kUint8},
     {"I32", infer::ElementType::kInt32},
     {"I64", infer::ElementType::kInt64}}};

infer::Tensor stored_tensor(const SafetensorsHeader& header, std::span<const std::uint8_t> bytes,
                            const std::string& name) {
  const StoredTensor* const stored = header.find(name);
  if (stored == nullptr)
    throw Error(ErrorKind::kInput,
                fmt::format("found no tensor '{}' of the graph in {}; expected it", name, kGraphKey));
  const auto type =
      std::ranges::find(kStoredTypes, stored->type, &std::pair<std::string_view, infer::ElementType>::first);
  if (type == kStoredTypes.end())
    throw Error(ErrorKind::kInput,
                fmt::format("found tensor '{}' of type {}; expected a type of model graphs", name, stored->type));
  const std::span<const std::uint8_t> data = bytes.subspan(stored->begin, stored->end - stored->begin);
  return {{type->second, stored->shape}, {data.begin(), data.end()}};
}

infer::ActivationLimits stored_limits(const SafetensorsHeader& header, std::span<const std::uint8_t> bytes,
                                      const std::string& names) {
  std::vector<std::string> activations;
  for (std::string_view left = names; !left.empty();) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    activations.emplace_back(left.substr(0, end));
    left.remove_prefix(std::min(left.size(), end + 1));
  }
  const infer::Tensor tensor = stored_tensor(header, bytes, kLimitsName);
  const std::vector<float> values =
      tensor.type.element == infer::ElementType::kFloat32 ? infer::floats_of(tensor) : std::vector<float>();
  infer::ActivationLimits limits;
  for (std::size_t i = 0; i < std::min(values.size(), activations.size()); ++i)
    if (std::isfinite(values[i]) && values[i] >= 0) limits[activations[i]] = values[i];
  if (limits.size() != activations.size() || values.size() != activations.size())
    throw Error(ErrorKind::kInput, fmt::format("found {} activations in {} and {} limits that are finite and not "
                                               "negative in '{}'; expected one limit for each activation",
                                               activations.size(), kLimitsKey, limits.size(), kLimitsName));
  return limits;
}

}  // namespace

std::string text_of_structure(const infer::Graph& structure) { return to_base64(infer::format_onnx(structure)); }

std::string text_of_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "\n") + name;
  return text;
}

bool has_graph(const SafetensorsHeader& header) { return header.metadata.contains(kGraphKey); }
bool has_own_graph(const SafetensorsHeader& header) {
  return has_graph(header) && !header.metadata.contains(kModulesKey);
}

infer::Graph graph_of_checkpoint(const SafetensorsHeader& header, std::span<const std::uint8_t> bytes) {
  const std::optional<std::vector<std::uint8_t>> file = from_base64(header.metadata.at(kGraphKey));
  if (!file)
    throw Error(ErrorKind::kInput,
                fmt::format("found text in {} that is not base64; expected an ONNX file", kGraphKey));
  const infer::Graph structure = infer::read_onnx(*file, kGraphKey);
  if (structure.inputs.empty() || structure.outputs.size() != 1)
    throw Error(ErrorKind::kInput, fmt::format("found {} inputs and {} outputs in {}; expected an input and one output",
                                               structure.inputs.size(), structure.outputs.size(), kGraphKey));
  infer::Graph graph = infer::with_weights(
      structure, [&](const infer::Value& value) { return stored_tensor(header, bytes, value.name); });
  if (const auto names = header.metadata.find(kLimitsKey); names != header.metadata.end())
    graph.limits = stored_limits(header, bytes, names->second);
  return graph;
}

}  // namespace unstarve
