#pragma once
// The used fields of the messages of an ONNX file, unchecked.
//
// Ownership: names and raw data borrow from the file.
// Failure:   Error(kInput), without the name of the file.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "unstarve/infer/graph/tensor.h"

namespace unstarve::infer {

struct ProtoTensor {
  std::string_view name{};
  std::int64_t type = 0;
  std::vector<std::int64_t> dims{};
  std::optional<std::span<const std::uint8_t>> raw{};
  std::vector<float> floats{};
  std::vector<std::int64_t> int32s{};
  std::vector<std::int64_t> int64s{};
  bool external = false;  // the data is in another file (external_data.h)
  std::map<std::string_view, std::string_view> external_entries{};
};

struct ProtoAttribute {
  float number = 0;
  std::int64_t integer = 0;
  std::string_view text{};
  std::optional<ProtoTensor> tensor{};
  std::vector<float> floats{};
  std::vector<std::int64_t> integers{};
  bool reference = false;  // to an attribute of a function
};

struct ProtoNode {
  std::string_view name{}, op{}, domain{};
  std::vector<std::string_view> inputs{}, outputs{};  // "": none
  std::map<std::string_view, ProtoAttribute> attributes{};

  // Its name, or if it has none that of its first output.
  [[nodiscard]] std::string_view label() const { return name.empty() && !outputs.empty() ? outputs[0] : name; }
};

struct ProtoDimension {
  std::int64_t length = 0;         // 0: open
  std::string_view length_name{};  // of an open one; may be empty
};

struct ProtoInput {
  std::string_view name{};
  std::int64_t type = 0;
  bool has_shape = false;
  std::vector<ProtoDimension> dims{};
};

struct ProtoModel {
  std::map<std::string_view, std::int64_t> opsets{};  // version by domain; "" is the standard one
  std::map<std::string_view, std::string_view> metadata{};
  std::string_view name{};
  std::vector<ProtoNode> nodes{};
  std::vector<ProtoTensor> initializers{};
  std::vector<ProtoInput> inputs{};
  std::vector<std::string_view> outputs{};
};

[[nodiscard]] ProtoModel parse_proto(std::span<const std::uint8_t> file);
// Throws Error(kInput) if its type is not supported, or its data does not fit its dimensions.
[[nodiscard]] Tensor tensor_of(const ProtoTensor& proto);
// Nothing for an unsupported type.
[[nodiscard]] std::optional<ElementType> element_type_of(std::int64_t code) noexcept;

}  // namespace unstarve::infer
