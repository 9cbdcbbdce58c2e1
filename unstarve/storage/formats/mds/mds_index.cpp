#include "unstarve/storage/formats/mds/mds_index.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/source/safe_path.h"

namespace unstarve {
namespace {

using nlohmann::json;

const json& member(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) throw input_error("'{}' is missing", key);
  return *found;
}

std::string text_of(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_string()) throw input_error("'{}' is not a string", key);
  return value.get<std::string>();
}

std::uint64_t number_of(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_number_unsigned()) throw input_error("'{}' is not a non-negative integer", key);
  return value.get<std::uint64_t>();
}

MdsFile file_of(const json& object) {
  MdsFile file{text_of(object, "basename"), number_of(object, "bytes")};
  if (leaves_folder(file.name))
    throw input_error("shard name '{}': absolute, or leaves the folder through '..'", file.name);
  return file;
}

std::vector<MdsColumn> columns_of(const json& shard) {
  const json& names = member(shard, "column_names");
  const json& encodings = member(shard, "column_encodings");
  const json& sizes = member(shard, "column_sizes");
  if (!names.is_array() || !encodings.is_array() || !sizes.is_array() || names.empty() ||
      names.size() != encodings.size() || names.size() != sizes.size()) {
    throw input_error("column_names, column_encodings and column_sizes are not lists of equal length");
  }
  std::vector<MdsColumn> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool sized = sizes[i].is_number_unsigned();
    if (!names[i].is_string() || !encodings[i].is_string() || (!sized && !sizes[i].is_null())) {
      throw input_error("column {}: name, encoding or size is invalid", i);
    }
    const std::uint64_t bytes = sized ? sizes[i].get<std::uint64_t>() : 0;
    if (bytes > std::numeric_limits<std::uint32_t>::max()) throw input_error("column {} is too large", i);
    columns.push_back(
        {names[i].get<std::string>(), encodings[i].get<std::string>(), static_cast<std::uint32_t>(bytes)});
  }
  return columns;
}

MdsShard shard_of(const json& object) {
  const std::string format = text_of(object, "format");
  if (format != "mds") throw input_error("shard format '{}'; expected 'mds'", format.substr(0, 32));
  const json& compression = member(object, "compression");
  MdsShard shard;
  shard.raw = file_of(member(object, "raw_data"));
  shard.samples = number_of(object, "samples");
  if (compression.is_null()) return shard;
  shard.compression = text_of(object, "compression");
  shard.compression.resize(std::min(shard.compression.find(':'), shard.compression.size()));
  shard.zip = file_of(member(object, "zip_data"));
  return shard;
}

template <class T>
std::int64_t fixed_integer(std::span<const std::uint8_t> value) {
  if (value.size() != sizeof(T)) {
    throw input_error("an integer of {} bytes; expected {}", value.size(), sizeof(T));
  }
  const T number = load_little<T>(value.data());
  if (!std::in_range<std::int64_t>(number)) throw input_error("the number {} is too large", number);
  return static_cast<std::int64_t>(number);
}

struct IntegerEncoding {
  std::string_view name;
  std::int64_t (*parse)(std::span<const std::uint8_t> value);
};

std::int64_t text_integer(std::span<const std::uint8_t> value) {
  const std::optional<std::int64_t> number = parse_number<std::int64_t>(as_text(value));
  if (!number) throw input_error("the string is not an integer");
  return *number;
}

constexpr IntegerEncoding kIntegers[] = {
    {"int", fixed_integer<std::int64_t>},     {"int8", fixed_integer<std::int8_t>},
    {"int16", fixed_integer<std::int16_t>},   {"int32", fixed_integer<std::int32_t>},
    {"int64", fixed_integer<std::int64_t>},   {"uint8", fixed_integer<std::uint8_t>},
    {"uint16", fixed_integer<std::uint16_t>}, {"uint32", fixed_integer<std::uint32_t>},
    {"uint64", fixed_integer<std::uint64_t>}, {"str_int", text_integer},
};

const IntegerEncoding* find_integer(std::string_view encoding) noexcept {
  const auto* const found =
      std::find_if(std::begin(kIntegers), std::end(kIntegers), [&](const auto& row) { return row.name == encoding; });
  return found == std::end(kIntegers) ? nullptr : found;
}

}  // namespace

MdsIndex parse_mds_index(std::string_view text) {
  const json root = try_parse_json(text);
  if (root.is_discarded()) throw input_error("not JSON");
  if (number_of(root, "version") != 2) {
    throw input_error("format version {}; expected 2", number_of(root, "version"));
  }
  const json& shards = member(root, "shards");
  if (!shards.is_array() || shards.empty()) throw input_error("no shard listed; expected at least one");
  MdsIndex index;
  for (const json& shard : shards) {
    index.shards.push_back(shard_of(shard));
    std::vector<MdsColumn> columns = columns_of(shard);
    if (index.columns.empty())
      index.columns = std::move(columns);
    else if (columns != index.columns)
      throw input_error("shard '{}' has other columns than the first shard", index.shards.back().raw.name);
  }
  return index;
}

std::span<const std::uint8_t> mds_value(std::span<const std::uint8_t> sample, std::span<const MdsColumn> columns,
                                        std::size_t which) {
  std::uint64_t lengths_bytes = 0;
  for (const MdsColumn& column : columns) lengths_bytes += column.fixed_bytes == 0 ? 4 : 0;
  if (lengths_bytes > sample.size()) {
    throw input_error("a sample of {} bytes is too short for its column lengths", sample.size());
  }
  std::uint64_t offset = lengths_bytes, begin = 0, length = 0;
  const std::uint8_t* next_length = sample.data();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::uint64_t bytes = columns[i].fixed_bytes;
    if (bytes == 0) {
      bytes = load_little<std::uint32_t>(next_length);
      next_length += 4;
    }
    if (bytes > sample.size() - offset) {
      throw input_error("column '{}' declares {} bytes, the sample contains {} more", columns[i].name, bytes,
                        sample.size() - offset);
    }
    if (i == which) {
      begin = offset;
      length = bytes;
    }
    offset += bytes;
  }
  if (offset != sample.size()) {
    throw input_error("{} bytes follow the last column of the sample", sample.size() - offset);
  }
  return sample.subspan(begin, length);
}

bool is_mds_integer(std::string_view encoding) noexcept { return find_integer(encoding) != nullptr; }

std::int64_t mds_integer(std::string_view encoding, std::span<const std::uint8_t> value) {
  return find_integer(encoding)->parse(value);
}

MdsPixels parse_mds_pil(std::span<const std::uint8_t> value) {
  constexpr std::size_t kHead = 12;
  if (value.size() < kHead) throw input_error("a raw image of {} bytes; the header has 12", value.size());
  MdsPixels image;
  image.width = load_little<std::uint32_t>(value.data());
  image.height = load_little<std::uint32_t>(value.data() + 4);
  const std::uint64_t mode_bytes = load_little<std::uint32_t>(value.data() + 8);
  if (mode_bytes > value.size() - kHead) throw input_error("raw image: the mode name is longer than the image");
  const std::string mode(reinterpret_cast<const char*>(value.data()) + kHead, std::min<std::size_t>(mode_bytes, 16));
  if (mode != "RGB" && mode != "L") throw input_error("raw image of mode '{}'; expected RGB or L", mode);
  image.channels = mode == "L" ? 1 : 3;
  image.pixels = value.subspan(kHead + mode_bytes);
  constexpr std::uint32_t kLongestSide = 1 << 20;
  const std::uint64_t needed = std::uint64_t{image.width} * image.height * static_cast<std::uint64_t>(image.channels);
  if (image.width == 0 || image.height == 0 || image.width > kLongestSide || image.height > kLongestSide ||
      needed != image.pixels.size()) {
    throw input_error("a raw image of {} x {} pixels with {} bytes", image.width, image.height, image.pixels.size());
  }
  return image;
}

}  // namespace unstarve
