#include "unstarve/jobs/prepare/mat_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

using Bytes = std::span<const std::uint8_t>;

enum Type : std::uint32_t {
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kSingle = 7,
  kDouble = 9,
  kInt64 = 12,
  kUint64 = 13,
  kMatrix = 14,
  kCompressed = 15,
  kUtf8 = 16,
  kUtf16 = 17,
};

constexpr std::size_t kHeaderBytes = 128;
constexpr std::uint8_t kStructureClass = 2;
constexpr std::uint64_t kMaxSynsets = 1'000'000;
constexpr std::size_t kMaxFields = 64;

struct Element {
  std::uint32_t type = 0;
  Bytes data;
};

template <class T>
T load(Bytes bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);  // little-endian, as on x86 and Arm
  return value;
}

// Reads consecutive elements.
class Elements {
 public:
  Elements(Bytes bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kInput, fmt::format("{}: at offset {}: {}", name_, at_, what));
  }
  Element next() {
    if (bytes_.size() - at_ < 8) fail("expected an element, found the end of the file");
    const auto first = load<std::uint32_t>(bytes_.subspan(at_));
    Element element;
    if (first >> 16 != 0) {  // small
      const std::size_t count = first >> 16;
      if (count > 4) fail(fmt::format("small element of {} bytes; expected at most 4", count));
      element = {first & 0xFFFF, bytes_.subspan(at_ + 4, count)};
      at_ += 8;
      return element;
    }
    const std::size_t count = load<std::uint32_t>(bytes_.subspan(at_ + 4));
    if (count > bytes_.size() - at_ - 8) {
      fail(fmt::format("element of {} bytes, but {} are left", count, bytes_.size() - at_ - 8));
    }
    element = {first, bytes_.subspan(at_ + 8, count)};
    const std::size_t filled = first == kCompressed ? count : (count + 7) / 8 * 8;
    at_ += 8 + std::min(filled, bytes_.size() - at_ - 8);
    return element;
  }
  Element next(Type type, const char* what) {
    const Element element = next();
    if (element.type != type) fail(fmt::format("{}: element of type {}; expected {}", what, element.type, +type));
    return element;
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Bytes bytes_;
  const std::string& name_;
  std::size_t at_ = 0;
};

std::vector<std::uint8_t> inflate_all(Bytes bytes, const std::string& name) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw Error(ErrorKind::kMemory, name + ": zlib is out of memory");
  std::vector<std::uint8_t> out;
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  int status = Z_OK;
  while (status == Z_OK && out.size() <= kMaxMatBytes) {
    const std::size_t had = out.size();
    out.resize(had + (std::size_t{256} << 10));
    stream.next_out = out.data() + had;
    stream.avail_out = static_cast<uInt>(out.size() - had);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) {
    const bool large = out.size() > kMaxMatBytes;
    throw Error(ErrorKind::kInput, name + (large ? ": the inflated data is too large" : ": damaged compressed data"));
  }
  return out;
}

double number_of(const Element& element, const Elements& elements) {
  const auto as = [&]<class T>(T) -> double {
    if (element.data.size() < sizeof(T)) elements.fail("truncated number");
    return static_cast<double>(load<T>(element.data));
  };
  switch (element.type) {
    case kInt8: return as(std::int8_t{});
    case kUint8: return as(std::uint8_t{});
    case kInt16: return as(std::int16_t{});
    case kUint16: return as(std::uint16_t{});
    case kInt32: return as(std::int32_t{});
    case kUint32: return as(std::uint32_t{});
    case kSingle: return as(float{});
    case kDouble: return as(double{});
    case kInt64: return as(std::int64_t{});
    case kUint64: return as(std::uint64_t{});
    default: elements.fail(fmt::format("element of type {}; expected a number", element.type));
  }
}

std::string text_of(const Element& element, const Elements& elements) {
  const bool wide = element.type == kUint16 || element.type == kUtf16;
  if (!wide && element.type != kUtf8 && element.type != kInt8 && element.type != kUint8) {
    elements.fail(fmt::format("element of type {}; expected a text", element.type));
  }
  const std::size_t step = wide ? 2 : 1;
  std::string text;
  for (std::size_t i = 0; i + step <= element.data.size(); i += step) {
    const unsigned letter = wide ? load<std::uint16_t>(element.data.subspan(i)) : element.data[i];
    text += letter < 128 ? static_cast<char>(letter) : '?';
  }
  return text;
}

// The first value of a numeric or character matrix.
Element value_of(const Element& matrix, const std::string& name, const char* field) {
  Elements parts(matrix.data, name);
  (void)parts.next(kUint32, field);  // flags
  (void)parts.next(kInt32, field);   // dimensions
  (void)parts.next(kInt8, field);    // name
  return parts.next();
}

struct Synset {
  int id = 0;
  std::string wnid;
  bool is_class = false;
};

int whole_number(const Element& matrix, const std::string& name, const char* field) {
  const Elements parts(matrix.data, name);
  const double value = number_of(value_of(matrix, name, field), parts);
  if (!(value >= 0 && value <= 1e6) || value != std::floor(value)) {
    parts.fail(fmt::format("{} is {}; expected an integer", field, value));
  }
  return static_cast<int>(value);
}

void take_field(const std::string& field, const Element& matrix, const std::string& name, Synset& synset) {
  if (field == "ILSVRC2012_ID") synset.id = whole_number(matrix, name, "ILSVRC2012_ID");
  if (field == "num_children") synset.is_class = whole_number(matrix, name, "num_children") == 0;
  if (field != "WNID") return;
  synset.wnid = text_of(value_of(matrix, name, "WNID"), Elements(matrix.data, name));
  // The WNID becomes a folder name.
  const bool fits = !synset.wnid.empty() && synset.wnid.find_first_not_of("n0123456789") == std::string::npos;
  if (!fits) throw Error(ErrorKind::kInput, name + ": the WNID \"" + synset.wnid + "\" is invalid");
}

std::vector<std::string> field_names(Elements& parts) {
  const double length = number_of(parts.next(kInt32, "length of a field name"), parts);
  const Element names = parts.next(kInt8, "field names");
  if (!(length >= 1 && length <= 64)) parts.fail("invalid length of a field name");
  const auto step = static_cast<std::size_t>(length);
  if (names.data.size() % step != 0 || names.data.size() / step > kMaxFields)
    parts.fail("the field names have a wrong length");
  std::vector<std::string> fields;
  for (std::size_t i = 0; i < names.data.size(); i += step) {
    const char* first = reinterpret_cast<const char*>(names.data.data()) + i;
    fields.emplace_back(first, strnlen(first, step));
  }
  return fields;
}

std::uint64_t count_of(const Element& dimensions, const Elements& parts) {
  std::uint64_t count = 1;
  for (std::size_t i = 0; i + 4 <= dimensions.data.size(); i += 4) {
    const auto length = load<std::int32_t>(dimensions.data.subspan(i));
    if (length < 0 || static_cast<std::uint64_t>(length) > kMaxSynsets) parts.fail("invalid dimensions");
    count *= static_cast<std::uint64_t>(length);
    if (count > kMaxSynsets) parts.fail("invalid dimensions");
  }
  return count;
}

// Empty if the matrix is not the variable synsets.
std::optional<std::map<int, std::string>> classes_in(const Element& matrix, const std::string& name) {
  Elements parts(matrix.data, name);
  const Element flags = parts.next(kUint32, "flags");
  if (flags.data.size() < 4) parts.fail("truncated flags");
  const Element dimensions = parts.next(kInt32, "dimensions");
  const std::string variable = text_of(parts.next(kInt8, "name"), parts);
  if (variable != "synsets" || flags.data[0] != kStructureClass) return std::nullopt;
  const std::uint64_t count = count_of(dimensions, parts);
  const std::vector<std::string> fields = field_names(parts);
  if (fields.empty()) parts.fail("structure without fields");
  std::map<int, std::string> classes;
  for (std::uint64_t i = 0; i < count; ++i) {
    Synset synset;
    for (const std::string& field : fields) take_field(field, parts.next(kMatrix, "a field"), name, synset);
    if (!synset.is_class) continue;
    if (synset.wnid.empty() || synset.id == 0) parts.fail("a class without WNID or ILSVRC2012_ID");
    if (!classes.emplace(synset.id, synset.wnid).second)
      parts.fail(fmt::format("two classes with number {}", synset.id));
  }
  return classes;
}

}  // namespace

std::map<int, std::string> parse_imagenet_classes(Bytes file, const std::string& name) {
  const bool is_mat = file.size() >= kHeaderBytes && load<std::uint16_t>(file.subspan(124)) == 0x0100 &&
                      file[126] == 'I' && file[127] == 'M';
  if (!is_mat) throw Error(ErrorKind::kInput, name + ": not a little-endian MATLAB level 5 file");
  Elements elements(file.subspan(kHeaderBytes), name);
  while (!elements.at_end()) {
    Element element = elements.next();
    std::vector<std::uint8_t> inflated;
    if (element.type == kCompressed) {
      inflated = inflate_all(element.data, name);
      element = Elements(inflated, name).next();
    }
    if (element.type != kMatrix) continue;
    if (auto classes = classes_in(element, name)) return *std::move(classes);
  }
  throw Error(ErrorKind::kInput, name + ": no structure array named synsets");
}

}  // namespace unstarve
