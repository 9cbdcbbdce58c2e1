#include "unstarve/storage/formats/mds/mds.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/index/record_files.h"
#include "unstarve/storage/source/class_text.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {
namespace {

constexpr std::size_t kMaxMdsClassBytes = 100;
// Offsets are u32 and no sample is empty: a shard of images cannot hold more.
constexpr std::uint32_t kMaxShardSamples = 1U << 26;
// Limit for the JSON text between the table and the first sample.
constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{1} << 20;

bool is_image_encoding(std::string_view encoding) {
  return encoding == "jpeg" || encoding == "png" || encoding == "pil" || encoding == "bytes";
}

std::uint64_t table_bytes(std::uint32_t samples) { return 4 + 4 * (std::uint64_t{samples} + 1); }

class Mds final : public RecordFormat {
 public:
  Mds(std::vector<MdsColumn> columns, const MdsFields& fields) : columns_(std::move(columns)), fields_(fields) {}

  [[nodiscard]] std::string name() const override { return "mds"; }
  [[nodiscard]] std::string label_choice() const override { return "column"; }
  [[nodiscard]] int scan_version() const override { return 6; }
  [[nodiscard]] bool can_read_names() const override { return true; }
  [[nodiscard]] FieldKind image_kind() const override {
    return columns_[fields_.image].encoding == "pil" ? FieldKind::kPixels : FieldKind::kEncodedImage;
  }
  // The columns are stored outside of the shard: an index must not survive a change of columns.
  [[nodiscard]] std::string variant() const override {
    std::string text = fmt::format("image={},label={}", fields_.image, fields_.label);
    if (fields_.names) text += ",classes=names";
    for (const MdsColumn& column : columns_) {
      text += fmt::format(",{}:{}:{}", column.name, column.encoding, column.fixed_bytes);
    }
    return text;
  }

  void scan(ForwardBytes& bytes, RecordSink& sink) const override {
    const std::vector<std::uint32_t> offsets = read_table(bytes);
    // Offsets must increase; an offset that does not is an error of that sample only.
    std::uint64_t end = table_bytes(static_cast<std::uint32_t>(offsets.size() - 1));
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      const std::uint64_t begin = offsets[i], after = offsets[i + 1];
      if (begin < end || after <= begin) {
        sink.add_damaged(end, 0, fmt::format("invalid table entry: offsets {} to {}", begin, after));
        continue;
      }
      end = after;
      add(begin, bytes.at(begin, after - begin), after - begin, sink);
    }
  }

  [[nodiscard]] bool begins_plain(std::span<const std::uint8_t> front) const override {
    if (front.size() < 8) return false;
    const std::uint64_t least = table_bytes(load_little<std::uint32_t>(front.data()));
    const std::uint64_t first = load_little<std::uint32_t>(front.data() + 4);
    return first >= least && first - least <= kMaxConfigBytes;
  }

  void fill(std::span<const std::uint8_t> stored, const IndexRecord&, AlignedBytes&, Value& image) const override {
    const std::span<const std::uint8_t> value = mds_value(stored, columns_, fields_.image);
    if (value.empty()) throw input_error("the image is empty");
    if (image_kind() == FieldKind::kEncodedImage) {
      image.bytes = value;
      return;
    }
    const MdsPixels raw = parse_mds_pil(value);
    image.pixels.data = raw.pixels.data();
    image.pixels.width = static_cast<int>(raw.width);
    image.pixels.height = static_cast<int>(raw.height);
    image.pixels.row_stride = static_cast<std::ptrdiff_t>(raw.width) * raw.channels;
    image.pixels.pixel_stride = raw.channels;
    image.pixels.channel_stride = raw.channels == 1 ? 0 : 1;  // grey: three channels of the same bytes
  }

 private:
  static std::vector<std::uint32_t> read_table(ForwardBytes& bytes) {
    const std::span<const std::uint8_t> head = bytes.at(0, 4);
    if (head.empty()) return {0};
    const std::uint32_t samples = head.size() < 4 ? kMaxShardSamples + 1 : load_little<std::uint32_t>(head.data());
    if (samples > kMaxShardSamples) throw input_error("not an MDS shard: invalid number of samples");
    const std::span<const std::uint8_t> table = bytes.at(4, table_bytes(samples) - 4);
    if (table.size() < table_bytes(samples) - 4) {
      throw input_error("truncated: the shard ends inside the table of {} samples", samples);
    }
    std::vector<std::uint32_t> offsets;
    offsets.reserve(std::size_t{samples} + 1);
    for (std::size_t at = 0; at < table.size(); at += 4)
      offsets.push_back(load_little<std::uint32_t>(table.data() + at));
    return offsets;
  }

  void add(std::uint64_t offset, std::span<const std::uint8_t> sample, std::uint64_t length, RecordSink& sink) const {
    if (sample.size() < length) {
      sink.add_damaged(
          offset, sample.size(),
          fmt::format("truncated: the shard ends after {} of the {} bytes of the sample", sample.size(), length));
      return;
    }
    try {
      const std::span<const std::uint8_t> image = mds_value(sample, columns_, fields_.image);
      if (image.empty()) throw input_error("the image is empty");
      ScannedRecord record{.offset = offset, .length = length};
      if (image_kind() == FieldKind::kPixels) {
        const MdsPixels raw = parse_mds_pil(image);
        record.size = {static_cast<int>(raw.width), static_cast<int>(raw.height)};
      } else {
        record.encoded = image;
      }
      std::string none = fields_.declined ? "" : "the columns " + describe_columns(columns_);
      std::string name;
      if (fields_.label >= 0)
        none = take_label(mds_value(sample, columns_, static_cast<std::size_t>(fields_.label)), record, name);
      record.no_label = none;
      sink.add(record);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      sink.add_damaged(offset, length, error.what());
    }
  }

  // Returns why there is no label. `name`: memory for the name of a number.
  std::string take_label(std::span<const std::uint8_t> value, ScannedRecord& record, std::string& name) const {
    const MdsColumn& column = columns_[static_cast<std::size_t>(fields_.label)];
    if (is_mds_integer(column.encoding)) {
      const std::int64_t number = mds_integer(column.encoding, value);
      name = std::to_string(number);
      if (fields_.names)
        record.label_name = name;
      else
        record.label = number;
      return "";
    }
    if (std::string other = not_a_class(as_text(value)); !other.empty() && !fields_.names)
      return "the column " + column.name + ": " + other;
    const auto parsed = parse_class(as_text(value), kMaxMdsClassBytes);
    if (!parsed) throw input_error("column '{}' is neither a class number nor a name", column.name);
    if (fields_.names)
      record.label_name = trim(as_text(value));
    else if (parsed->name.empty() && (parsed->number < 0 || parsed->number >= kMaxClasses))
      record.label = parsed->number;
    else
      record.label_text = trim(as_text(value));
    return "";
  }

  std::vector<MdsColumn> columns_;
  MdsFields fields_;
};

std::size_t column_named(const std::vector<MdsColumn>& columns, const std::string& name) {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const auto& column) { return column.name == name; });
  return static_cast<std::size_t>(found - columns.begin());
}

bool is_label(const MdsColumn& column) { return is_mds_integer(column.encoding) || column.encoding == "str"; }

std::size_t find_image(const std::vector<MdsColumn>& columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (is_image_encoding(columns[i].encoding) && columns[i].encoding != "bytes") return i;
  }
  for (const char* const name : {"image", "img", "jpg", "jpeg", "png", "webp"}) {
    const std::size_t i = column_named(columns, name);
    if (i < columns.size() && columns[i].encoding == "bytes") return i;
  }
  return columns.size();
}

int find_label(const std::vector<MdsColumn>& columns) {
  for (const char* const name : {"label", "class", "cls", "target", "y"}) {
    const std::size_t i = column_named(columns, name);
    if (i < columns.size()) return is_label(columns[i]) ? static_cast<int>(i) : -1;
  }
  return -1;
}

}  // namespace

std::string describe_columns(const std::vector<MdsColumn>& columns) {
  std::string text;
  for (const MdsColumn& column : columns)
    text += (text.empty() ? "" : ", ") + column.name + " (" + column.encoding + ")";
  return text;
}

MdsFields choose_mds_fields(const std::vector<MdsColumn>& columns, const std::string& image, const std::string& label) {
  MdsFields fields;
  fields.image = image.empty() ? find_image(columns) : column_named(columns, image);
  if (fields.image == columns.size()) {
    if (image.empty()) {
      throw input_error("no image column; available: {}. Choose one with #image=NAME.", describe_columns(columns));
    }
    throw argument_error("no column '{}'; available: {}", image, describe_columns(columns));
  }
  if (!is_image_encoding(columns[fields.image].encoding)) {
    throw argument_error("column '{}' has the encoding {}; expected an image: jpeg, png, pil or bytes", image,
                         columns[fields.image].encoding);
  }
  fields.declined = label == "none";
  if (fields.declined) return fields;
  fields.label = label.empty() ? find_label(columns) : static_cast<int>(column_named(columns, label));
  if (fields.label == static_cast<int>(columns.size())) {
    throw argument_error("no column '{}'; available: {}", label, describe_columns(columns));
  }
  if (fields.label >= 0 && !is_label(columns[static_cast<std::size_t>(fields.label)])) {
    throw argument_error("column '{}' is not a label; expected integers or str", label);
  }
  return fields;
}

std::shared_ptr<const RecordFormat> mds_format(std::vector<MdsColumn> columns, const MdsFields& fields) {
  return std::make_shared<Mds>(std::move(columns), fields);
}

namespace {

bool is_index(std::string_view front) {
  const auto names = [&](std::string_view word) { return front.find(word) != std::string_view::npos; };
  if (!names("\"shards\"")) return false;
  if (names("\"mds\"") && names("\"column_encodings\"")) return true;
  // An index without shards; opening it reports the error.
  const auto root = try_parse_json(front);
  return root.is_object() && root.contains("version") && root["shards"].is_array() && root["shards"].empty();
}

bool is_index(const ByteSource& file) { return is_index(read_text(file, kHeadBytes)); }

bool has_index(const Source& source) {
  return source.folder && std::binary_search(source.listing.files.begin(), source.listing.files.end(), "index.json");
}

// "shard.00000.mds", ".mds.gz", ".mds.zstd", ...
bool is_mds_name(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  return ends_in(name, ".mds") || name.find(".mds.") != std::string_view::npos;
}

// The path of the first file, without the query of a URL.
std::string_view name_of(const Source& source) {
  const std::string_view path = source.first_path;
  return is_url(source.path) ? path.substr(0, path.find('?')) : path;
}

std::string read_index(const ByteSource& file) {
  if (file.size() > kMaxMdsIndexBytes) {
    throw input_error("{} bytes; expected an index of at most {}", file.size(), kMaxMdsIndexBytes);
  }
  return read_text(file, file.size());
}

// Selects the plain file if it exists. The layer above detects and decompresses gzip and Zstandard.
Shard open_mds_shard(const std::string& folder, const MdsShard& shard) {
  if (shard.compression.empty()) return {folder + shard.raw.name, nullptr};
  std::error_code failed;
  if (!is_url(folder) && std::filesystem::exists(folder + shard.raw.name, failed))
    return {folder + shard.raw.name, nullptr};
  if (shard.compression == "gz" || shard.compression == "zstd") return {folder + shard.zip.name, nullptr};
  throw input_error("shard {} is compressed by {}; expected gz or zstd. Decompress it to {} in the same folder.",
                    shard.zip.name, shard.compression, shard.raw.name);
}

// Combines the shards of several indexes, in order.
class Indexes {
 public:
  Indexes(std::string image, std::string label, bool names)
      : image_(std::move(image)), label_(std::move(label)), names_(names) {}

  // `path`: a path or URL as for open_bytes().
  void add(const ByteSource& file, const std::string& path) {
    try {
      MdsIndex index = parse_mds_index(read_index(file));
      const std::string folder = path.substr(0, path.rfind('/', path.find('?')) + 1);
      for (const MdsShard& shard : index.shards) shards_.push_back(open_mds_shard(folder, shard));
      if (first_.empty()) {
        first_ = file.name();
        fields_ = choose_mds_fields(index.columns, image_, label_);
        fields_.names = names_;
        columns_ = std::move(index.columns);
      } else if (index.columns != columns_) {
        throw input_error("the columns are {}; expected {} as in {}", describe_columns(index.columns),
                          describe_columns(columns_), first_);
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kIo || error.kind() == ErrorKind::kCancelled) throw;
      throw Error(error.kind(), "open " + file.name() + ": " + error.what());
    }
  }

  [[nodiscard]] std::shared_ptr<const Dataset> open() {
    return std::make_shared<RecordFiles>(std::move(shards_), mds_format(std::move(columns_), fields_));
  }

 private:
  std::string image_, label_;  // options
  bool names_;
  std::string first_;  // name of the first index, which has these columns
  std::vector<MdsColumn> columns_;
  MdsFields fields_;
  std::vector<Shard> shards_;
};

// Every file must be an index: any other file would be ignored silently.
void add_all(const Source& source, Indexes& indexes) {
  for (const std::string& path : source.files) {
    const auto file = path == source.first_path ? source.first : open_bytes(path);
    if (!is_index(*file)) {
      throw input_error(
          "open {}: {} is not an MDS index.json like {}. Pass MDS folders, or only their index.json files.",
          shown_name(source.text), file->name(), source.first->name());
    }
    indexes.add(*file, path);
  }
}

}  // namespace

bool recognises_mds(const Source& source) {
  if (!source.folder) {
    return is_index(as_text(source.head)) || is_mds_name(name_of(source));
  }
  if (!has_index(source)) return false;
  try {
    return is_index(*open_bytes(source.path + "/index.json"));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCancelled) throw;
    return true;  // opening it reports why it cannot be read
  }
}

std::shared_ptr<const Dataset> open_mds(const Source& source, const std::string& split) {
  SourceOptions options = source.options;
  std::string image = options.take_text("image", ""), label = options.take_text("label", "");
  const bool names = options.take_class_names();
  options.reject_unknown();
  if (!split.empty()) {
    throw argument_error(
        "open {}: split '{}' is not available: an MDS folder is one split. Pass the folder of the split.",
        shown_name(source.text), split);
  }
  if (!source.folder && !is_index(*source.first)) {
    throw input_error("open {}: {} is an MDS shard, whose columns are stored in index.json. Pass the folder.",
                      shown_name(source.text), source.first->name());
  }
  Indexes indexes(std::move(image), std::move(label), names);
  if (source.folder) {
    const auto file = open_bytes(source.path + "/index.json");
    indexes.add(*file, file->name());
  } else {
    add_all(source, indexes);
  }
  return indexes.open();
}

}  // namespace unstarve
