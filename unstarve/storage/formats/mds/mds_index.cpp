#include "unstarve/storage/formats/mds/mds_index.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/source/safe_path.h"

namespace unstarve {
namespace {

using nlohmann::json;

[[noreturn]] void reject(const std::string& what) { throw Error(ErrorKind::kInput, what); }

const json& member(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) reject(std::string("'") + key + "' is missing");
  return *found;
}

std::string text_of(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_string()) reject(std::string("'") + key + "' is not a string");
  return value.get<std::string>();
}

std::uint64_t number_of(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_number_unsigned()) reject(std::string("'") + key + "' is not a non-negative integer");
  return value.get<std::uint64_t>();
}

MdsFile file_of(const json& object) {
  MdsFile file{text_of(object, "basename"), number_of(object, "bytes")};
  if (leaves_folder(file.name)) reject("shard name '" + file.name + "': absolute, or leaves the folder through '..'");
  return file;
}

std::vector<MdsColumn> columns_of(const json& shard) {
  const json& names = member(shard, "column_names");
  const json& encodings = member(shard, "column_encodings");
  const json& sizes = member(shard, "column_sizes");
  if (!names.is_array() || !encodings.is_array() || !sizes.is_array() || names.empty() ||
      names.size() != encodings.size() || names.size() != sizes.size()) {
    reject("column_names, column_encodings and column_sizes are not lists of equal length");
  }
  std::vector<MdsColumn> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool sized = sizes[i].is_number_unsigned();
    if (!names[i].is_string() || !encodings[i].is_string() || (!sized && !sizes[i].is_null())) {
      reject("column " + std::to_string(i) + ": name, encoding or size is invalid");
    }
    const std::uint64_t bytes = sized ? sizes[i].get<std::uint64_t>() : 0;
    if (bytes > std::numeric_limits<std::uint32_t>::max()) reject("column " + std::to_string(i) + " is too large");
    columns.push_back(
        {names[i].get<std::string>(), encodings[i].get<std::string>(), static_cast<std::uint32_t>(bytes)});
  }
  return columns;
}

MdsShard shard_of(const json& object) {
  const std::string format = text_of(object, "format");
  if (format != "mds") reject("shard format '" + format.substr(0, 32) + "'; expected 'mds'");
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
    reject("an integer of " + std::to_string(value.size()) + " bytes; expected " + std::to_string(sizeof(T)));
  }
  const T number = load_little<T>(value.data());
  if (!std::in_range<std::int64_t>(number)) reject("the number " + std::to_string(number) + " is too large");
  return static_cast<std::int64_t>(number);
}

struct IntegerEncoding {
  std::string_view name;
  std::int64_t (*parse)(std::span<const std::uint8_t> value);
};

std::int64_t text_integer(std::span<const std::uint8_t> value) {
  const std::optional<std::int64_t> number = parse_number<std::int64_t>(as_text(value));
  if (!number) reject("the string is not an integer");
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
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) reject("not JSON");
  if (number_of(root, "version") != 2) {
    reject("format version " + std::to_string(number_of(root, "version")) + "; expected 2");
  }
  const json& shards = member(root, "shards");
  if (!shards.is_array() || shards.empty()) reject("no shard listed; expected at least one");
  MdsIndex index;
  for (const json& shard : shards) {
    index.shards.push_back(shard_of(shard));
    std::vector<MdsColumn> columns = columns_of(shard);
    if (index.columns.empty())
      index.columns = std::move(columns);
    else if (columns != index.columns)
      reject("shard '" + index.shards.back().raw.name + "' has other columns than the first shard");
  }
  return index;
}

std::span<const std::uint8_t> mds_value(std::span<const std::uint8_t> sample, std::span<const MdsColumn> columns,
                                        std::size_t which) {
  std::uint64_t lengths_bytes = 0;
  for (const MdsColumn& column : columns) lengths_bytes += column.fixed_bytes == 0 ? 4 : 0;
  if (lengths_bytes > sample.size()) {
    reject("a sample of " + std::to_string(sample.size()) + " bytes is too short for its column lengths");
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
      reject("column '" + columns[i].name + "' declares " + std::to_string(bytes) + " bytes, the sample contains " +
             std::to_string(sample.size() - offset) + " more");
    }
    if (i == which) {
      begin = offset;
      length = bytes;
    }
    offset += bytes;
  }
  if (offset != sample.size()) {
    reject(std::to_string(sample.size() - offset) + " bytes follow the last column of the sample");
  }
  return sample.subspan(begin, length);
}

bool is_mds_integer(std::string_view encoding) noexcept { return find_integer(encoding) != nullptr; }

std::int64_t mds_integer(std::string_view encoding, std::span<const std::uint8_t> value) {
  return find_integer(encoding)->parse(value);
}

MdsPixels parse_mds_pil(std::span<const std::uint8_t> value) {
  constexpr std::size_t kHead = 12;
  if (value.size() < kHead) reject("a raw image of " + std::to_string(value.size()) + " bytes; the header has 12");
  MdsPixels image;
  image.width = load_little<std::uint32_t>(value.data());
  image.height = load_little<std::uint32_t>(value.data() + 4);
  const std::uint64_t mode_bytes = load_little<std::uint32_t>(value.data() + 8);
  if (mode_bytes > value.size() - kHead) reject("raw image: the mode name is longer than the image");
  const std::string mode(reinterpret_cast<const char*>(value.data()) + kHead, std::min<std::size_t>(mode_bytes, 16));
  if (mode != "RGB" && mode != "L") reject("raw image of mode '" + mode + "'; expected RGB or L");
  image.channels = mode == "L" ? 1 : 3;
  image.pixels = value.subspan(kHead + mode_bytes);
  constexpr std::uint32_t kMaxSide = 1 << 20;
  const std::uint64_t needed = std::uint64_t{image.width} * image.height * static_cast<std::uint64_t>(image.channels);
  if (image.width == 0 || image.height == 0 || image.width > kMaxSide || image.height > kMaxSide ||
      needed != image.pixels.size()) {
    reject("a raw image of " + std::to_string(image.width) + " x " + std::to_string(image.height) + " pixels with " +
           std::to_string(image.pixels.size()) + " bytes");
  }
  return image;
}

}  // namespace unstarve
