#include "unstarve/models/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"

namespace unstarve {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "arrays are mapped without conversion");

// Headers of real models are below 1 MB; the reference reader of the format has this limit.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxDimensions = 32;
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kChecksum = "unstarve.crc32";
constexpr std::string_view kMetadataChecksum = "unstarve.metadata_crc32";
constexpr std::string_view kOwnMetadata = "unstarve.";  // how the keys begin that the checksum covers

struct ElementTypeRow {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<ElementTypeRow, 15> kElementTypes{{{"F64", 8},
                                                        {"F32", 4},
                                                        {"F16", 2},
                                                        {"BF16", 2},
                                                        {"F8_E4M3", 1},
                                                        {"F8_E5M2", 1},
                                                        {"I64", 8},
                                                        {"I32", 4},
                                                        {"I16", 2},
                                                        {"I8", 1},
                                                        {"U64", 8},
                                                        {"U32", 4},
                                                        {"U16", 2},
                                                        {"U8", 1},
                                                        {"BOOL", 1}}};

[[nodiscard]] Error bad(const std::string& origin, const std::string& what) {
  return {ErrorKind::kInput, fmt::format("reading safetensors {}: {}", origin, what)};
}

// Computes the bytes of a shape; false on overflow or for a negative dimension.
bool shape_bytes(std::span<const std::int64_t> shape, std::size_t element, std::size_t& bytes) noexcept {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t product = element;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) return false;
    const auto factor = static_cast<std::uint64_t>(dimension);
    if (factor != 0 && product > kMax / factor) return false;
    product *= factor;
  }
  bytes = product;
  return true;
}

// A SAX parser of the header, which detects duplicate names and rejects deeper nesting.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(SafetensorsHeader& header, const std::string& origin) : header_(header), origin_(origin) {}

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_float(double, const std::string& text) override { return unexpected("the number " + text); }
  bool binary(Json::binary_t&) override { return unexpected("binary data"); }
  bool number_integer(std::int64_t value) override { return unexpected(fmt::format("the number {}", value)); }

  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return unexpected(fmt::format("the number {}", value));
    }
    if (state_ == State::kShape) {
      if (tensor_.shape.size() == kMaxDimensions) {
        return unexpected(fmt::format("more than {} dimensions", kMaxDimensions));
      }
      tensor_.shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (state_ == State::kOffsets && offsets_ < 2) {
      (offsets_++ == 0 ? tensor_.begin : tensor_.end) = value;
      return true;
    }
    return unexpected(fmt::format("the number {}", value));
  }

  bool string(std::string& value) override {
    if (state_ == State::kText) {
      if (!header_.metadata.emplace(key_, value).second) return unexpected("a duplicate metadata key");
      return true;
    }
    if (state_ == State::kTensor && key_ == "dtype") {
      tensor_.type = value;
      return true;
    }
    return unexpected("a string");
  }

  bool start_object(std::size_t) override {
    switch (state_) {
      case State::kOutside: state_ = State::kTop; return true;
      case State::kTop:
        state_ = key_ == kMetadata ? State::kText : State::kTensor;
        tensor_ = {};
        tensor_.name = key_;
        fields_.clear();
        offsets_ = 0;
        return true;
      default: return unexpected("an object");
    }
  }

  bool key(std::string& name) override {
    key_ = name;
    if (state_ == State::kTop && !names_.insert(name).second) return unexpected("a duplicate name");
    if (state_ == State::kTensor) {
      if (name != "dtype" && name != "shape" && name != "data_offsets") return unexpected("an unknown key");
      if (!fields_.insert(name).second) return unexpected("a duplicate key");
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::kTop) {
      state_ = State::kEnd;
      return true;
    }
    if (state_ == State::kTensor) {
      if (fields_.size() != 3 || offsets_ != 2) {
        throw bad(origin_, fmt::format("tensor \"{}\" lacks one of dtype, shape and two data_offsets", tensor_.name));
      }
      header_.tensors.push_back(std::move(tensor_));
    }
    state_ = State::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ == State::kTensor && key_ == "shape") return enter(State::kShape);
    if (state_ == State::kTensor && key_ == "data_offsets") return enter(State::kOffsets);
    return unexpected("an array");
  }

  bool end_array() override { return enter(State::kTensor); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    throw bad(origin_, fmt::format("the header is not valid JSON at byte {}: {}", position, error.what()));
  }

 private:
  enum class State { kOutside, kTop, kText, kTensor, kShape, kOffsets, kEnd };

  bool enter(State state) {
    state_ = state;
    return true;
  }
  [[noreturn]] bool unexpected(const std::string& what) const {
    throw bad(origin_, fmt::format("invalid header: {} near \"{}\"", what, key_.substr(0, 80)));
  }

  SafetensorsHeader& header_;
  const std::string& origin_;
  State state_ = State::kOutside;
  std::string key_;
  StoredTensor tensor_;
  std::set<std::string> names_;
  std::set<std::string> fields_;
  int offsets_ = 0;
};

// Checks that types are known, sizes match the shapes and the data has no gap or overlap. Makes offsets absolute.
void check_layout(SafetensorsHeader& header, std::size_t data_begin, std::size_t file_bytes,
                  const std::string& origin) {
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::size_t expected = 0;
  for (StoredTensor& tensor : header.tensors) {
    const std::size_t element = safetensors_element_bytes(tensor.type);
    if (element == 0) {
      throw bad(origin,
                fmt::format("tensor \"{}\" has the unknown dtype \"{}\"", tensor.name, tensor.type.substr(0, 20)));
    }
    std::size_t bytes = 0;
    if (!shape_bytes(tensor.shape, element, bytes)) {
      throw bad(origin,
                fmt::format("tensor \"{}\" has an impossible shape [{}]", tensor.name, fmt::join(tensor.shape, ", ")));
    }
    if (tensor.begin != expected || tensor.end < tensor.begin || tensor.end - tensor.begin != bytes) {
      throw bad(origin, fmt::format("tensor \"{}\" is at [{}, {}); expected [{}, {})", tensor.name, tensor.begin,
                                    tensor.end, expected, expected + bytes));
    }
    expected = tensor.end;
    if (expected > file_bytes - data_begin) {
      throw bad(origin, fmt::format("tensor \"{}\" ends {} bytes after the end of the file (truncated?)", tensor.name,
                                    expected - (file_bytes - data_begin)));
    }
    tensor.begin += data_begin;
    tensor.end += data_begin;
  }
  if (expected != file_bytes - data_begin) {
    throw bad(origin, fmt::format("{} bytes follow the last tensor", file_bytes - data_begin - expected));
  }
}

std::uint32_t add_bytes(std::uint32_t sum, std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(::crc32_z(sum, bytes.data(), bytes.size()));
}

std::string checksum_text(std::uint32_t sum) { return fmt::format("{:08x}", sum); }

std::string metadata_checksum(const std::map<std::string, std::string>& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata)
    if (key.starts_with(kOwnMetadata) && key != kMetadataChecksum) text += key + '\0' + value + '\0';
  return checksum_text(add_bytes(0, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
}

void check_metadata(const SafetensorsHeader& header, const std::string& origin) {
  const auto stored = header.metadata.find(std::string(kMetadataChecksum));
  if (stored == header.metadata.end()) return;
  if (const std::string sum = metadata_checksum(header.metadata); sum != stored->second)
    throw bad(origin, fmt::format("damaged: the checksum of the metadata is {}; expected {}", sum, stored->second));
}

}  // namespace

std::size_t safetensors_element_bytes(std::string_view type) noexcept {
  for (const ElementTypeRow& row : kElementTypes) {
    if (row.name == type) return row.bytes;
  }
  return 0;
}

const StoredTensor* SafetensorsHeader::find(std::string_view name) const noexcept {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const StoredTensor& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

SafetensorsHeader parse_safetensors(std::span<const std::uint8_t> file, const std::string& origin) {
  constexpr std::size_t kPrefix = 8;
  if (file.size() < kPrefix + 2) {
    throw bad(origin, fmt::format("found {} bytes, too short for a header", file.size()));
  }
  std::uint64_t json_bytes = 0;
  for (std::size_t i = 0; i < kPrefix; ++i) json_bytes |= static_cast<std::uint64_t>(file[i]) << (8 * i);
  if (json_bytes > kMaxHeaderBytes || json_bytes > file.size() - kPrefix) {
    throw bad(origin, fmt::format("the header declares {} bytes, but the file has {}; expected a safetensors file. In "
                                  "Python, unstarve.weights.convert() converts files of torch.save()",
                                  json_bytes, file.size()));
  }
  const auto json = file.subspan(kPrefix, json_bytes);
  if (json.empty() || json[0] != '{') throw bad(origin, "the header does not start with '{'");

  SafetensorsHeader header;
  HeaderReader reader(header, origin);
  Json::sax_parse(json.begin(), json.end(), &reader);
  check_layout(header, kPrefix + json_bytes, file.size(), origin);
  check_metadata(header, origin);
  return header;
}

void check_checksum(const SafetensorsHeader& header, std::span<const std::uint8_t> file, const std::string& origin) {
  const auto stored = header.metadata.find(std::string(kChecksum));
  if (stored == header.metadata.end()) return;
  std::uint32_t sum = 0;
  for (const StoredTensor& tensor : header.tensors)
    sum = add_bytes(sum, file.subspan(tensor.begin, tensor.end - tensor.begin));
  if (checksum_text(sum) != stored->second)
    throw bad(origin, fmt::format("damaged: the checksum of the tensors is {}; expected {}", checksum_text(sum),
                                  stored->second));
}

std::string format_safetensors_header(std::span<const TensorToStore> tensors,
                                      std::map<std::string, std::string> metadata) {
  std::uint32_t sum = 0;
  for (const TensorToStore& tensor : tensors) sum = add_bytes(sum, tensor.bytes);
  metadata[std::string(kChecksum)] = checksum_text(sum);
  metadata[std::string(kMetadataChecksum)] = metadata_checksum(metadata);
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  header[std::string(kMetadata)] = metadata;
  std::size_t offset = 0;
  for (const TensorToStore& tensor : tensors) {
    std::size_t bytes = 0;
    const std::size_t element = safetensors_element_bytes(tensor.type);
    if (element == 0 || !shape_bytes(tensor.shape, element, bytes) || bytes != tensor.bytes.size()) {
      throw Error(ErrorKind::kArgument,
                  fmt::format("writing safetensors: tensor \"{}\" of type {} and shape [{}] cannot have {} bytes",
                              tensor.name, tensor.type, fmt::join(tensor.shape, ", "), tensor.bytes.size()));
    }
    if (header.contains(tensor.name)) {
      throw Error(ErrorKind::kArgument,
                  fmt::format("writing safetensors: found the name \"{}\" twice; expected once", tensor.name));
    }
    header[tensor.name] = {{"dtype", tensor.type}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string json = json_text(header);
  json.append((8 - json.size() % 8) % 8, ' ');  // aligns the data in a mapped file
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) text.push_back(static_cast<char>((json.size() >> (8 * i)) & 0xff));
  return text + json;
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorToStore> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = format_safetensors_header(tensors, metadata);
  std::vector<std::span<const std::uint8_t>> parts{
      {reinterpret_cast<const std::uint8_t*>(header.data()), header.size()}};
  for (const TensorToStore& tensor : tensors) parts.push_back(tensor.bytes);
  write_file_atomically(path, parts);
}

}  // namespace unstarve
