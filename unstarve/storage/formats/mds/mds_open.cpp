// Opens MDS: reads one or several index.json files and finds their shards.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/mds/mds.h"
#include "unstarve/storage/index/record_files.h"
#include "unstarve/storage/source/sniff.h"

namespace unstarve {
namespace {

bool is_index(std::string_view front) {
  const auto names = [&](std::string_view word) { return front.find(word) != std::string_view::npos; };
  if (!names("\"shards\"")) return false;
  if (names("\"mds\"") && names("\"column_encodings\"")) return true;
  // An index without shards; opening it reports the error.
  const auto root = nlohmann::json::parse(front, nullptr, /*allow_exceptions=*/false);
  return root.is_object() && root.contains("version") && root["shards"].is_array() && root["shards"].empty();
}

bool is_index(const ByteSource& file) {
  std::string front(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), kHeadBytes)), '\0');
  file.read(0, {reinterpret_cast<std::uint8_t*>(front.data()), front.size()});
  return is_index(front);
}

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
    throw Error(ErrorKind::kInput, std::to_string(file.size()) + " bytes; expected an index of at most " +
                                       std::to_string(kMaxMdsIndexBytes));
  }
  std::string text(file.size(), '\0');
  file.read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

// Selects the plain file if it exists. The layer above detects and decompresses gzip and Zstandard.
Shard open_mds_shard(const std::string& folder, const MdsShard& shard) {
  if (shard.compression.empty()) return {folder + shard.raw.name, nullptr};
  std::error_code failed;
  if (!is_url(folder) && std::filesystem::exists(folder + shard.raw.name, failed))
    return {folder + shard.raw.name, nullptr};
  if (shard.compression == "gz" || shard.compression == "zstd") return {folder + shard.zip.name, nullptr};
  throw Error(ErrorKind::kInput, "shard " + shard.zip.name + " is compressed by " + shard.compression +
                                     "; expected gz or zstd. Decompress it to " + shard.raw.name +
                                     " in the same folder.");
}

// Combines the shards of several indexes, in order.
class Indexes {
 public:
  Indexes(std::string image, std::string label) : image_(std::move(image)), label_(std::move(label)) {}

  // `path`: a path or URL as for open_bytes().
  void add(const ByteSource& file, const std::string& path) {
    try {
      MdsIndex index = parse_mds_index(read_index(file));
      const std::string folder = path.substr(0, path.rfind('/', path.find('?')) + 1);
      for (const MdsShard& shard : index.shards) shards_.push_back(open_mds_shard(folder, shard));
      if (first_.empty()) {
        first_ = file.name();
        fields_ = choose_mds_fields(index.columns, image_, label_);
        columns_ = std::move(index.columns);
      } else if (index.columns != columns_) {
        throw Error(ErrorKind::kInput, "the columns are " + describe_columns(index.columns) + "; expected " +
                                           describe_columns(columns_) + " as in " + first_);
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
  std::string first_;          // name of the first index, which has these columns
  std::vector<MdsColumn> columns_;
  MdsFields fields_;
  std::vector<Shard> shards_;
};

// Every file must be an index: any other file would be ignored silently.
void add_all(const Source& source, Indexes& indexes) {
  for (const std::string& path : source.files) {
    const auto file = path == source.first_path ? source.first : open_bytes(path);
    if (!is_index(*file)) {
      throw Error(ErrorKind::kInput, "open " + shown_name(source.text) + ": " + file->name() +
                                         " is not an MDS index.json like " + source.first->name() +
                                         ". Pass MDS folders, or only their index.json files.");
    }
    indexes.add(*file, path);
  }
}

}  // namespace

bool recognises_mds(const Source& source) {
  if (!source.folder) {
    return is_index({reinterpret_cast<const char*>(source.head.data()), source.head.size()}) ||
           is_mds_name(name_of(source));
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
  options.refuse_rest();
  if (!split.empty()) {
    throw Error(ErrorKind::kArgument, "open " + shown_name(source.text) + ": split '" + split +
                                          "' is not available: an MDS folder is one split. Pass the folder of the "
                                          "split.");
  }
  if (!source.folder && !is_index(*source.first)) {
    throw Error(ErrorKind::kInput, "open " + shown_name(source.text) + ": " + source.first->name() +
                                       " is an MDS shard, whose columns are stored in index.json. Pass the folder.");
  }
  Indexes indexes(std::move(image), std::move(label));
  if (source.folder) {
    const auto file = open_bytes(source.path + "/index.json");
    indexes.add(*file, file->name());
  } else {
    add_all(source, indexes);
  }
  return indexes.open();
}

}  // namespace unstarve
