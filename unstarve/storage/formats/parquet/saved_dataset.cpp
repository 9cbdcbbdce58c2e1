#include "unstarve/storage/formats/parquet/saved_dataset.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/formats/parquet/parquet_dataset.h"
#include "unstarve/storage/source/safe_path.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {
namespace {

constexpr const char* kDictFile = "dataset_dict.json";
constexpr const char* kStateFile = "state.json";
constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{64} << 20;

// The files `cache-*` hold results of Dataset.map().
bool is_arrow_name(std::string_view name) { return ends_in(name, ".arrow") && !name.starts_with("cache-"); }

bool begins_as_arrow(std::span<const std::uint8_t> front) {
  if (as_text(front).starts_with("ARROW1")) return true;
  if (front.size() < 8 || load_little<std::uint32_t>(front.data()) != 0xffffffffU) return false;
  const auto length = load_little<std::int32_t>(front.data() + 4);
  return length > 0 && length % 8 == 0;
}

bool has(const Source& source, const char* name) {
  return source.folder && std::ranges::find(source.listing.files, name) != source.listing.files.end();
}

nlohmann::json read_json(const Source& source, const char* name) {
  const auto file = open_bytes(source.path + "/" + name);
  nlohmann::json read;
  if (file->size() <= kMaxJsonBytes) read = try_parse_json(read_text(*file, file->size()));
  if (!read.is_object()) throw input_error("read {}: not a JSON object", file->name());
  return read;
}

// The name of a file or folder in the source.
std::string checked_name(const Source& source, const nlohmann::json& found, const char* file) {
  const std::string name = found.is_string() ? found.get<std::string>() : "";
  if (!name.empty() && name.find('/') == std::string::npos && !leaves_folder(name)) return name;
  throw input_error("read {}/{}: found the name {}; expected a name in the same folder", shown_name(source.path), file,
                    json_text(found));
}

// The files that state.json lists.
std::vector<Shard> saved_files(const Source& source, const std::string& split) {
  const nlohmann::json state = read_json(source, kStateFile);
  const std::string shown = shown_name(source.path);
  const auto indices = state.find("_indices_data_files");
  if (indices != state.end() && !indices->empty()) {
    throw input_error(
        "open {}: found a dataset with an index mapping; expected one without. Save it by "
        "flatten_indices().save_to_disk(...).",
        shown);
  }
  const auto own = state.find("_split");
  const std::string name = own != state.end() && own->is_string() ? own->get<std::string>() : "";
  if (!split.empty() && split != name) {
    throw argument_error("open {}: no split '{}'; the folder contains {}", shown, split,
                         name.empty() ? "a dataset without splits" : "the split '" + name + "'");
  }
  std::vector<Shard> shards;
  const auto files = state.find("_data_files");
  if (files != state.end() && files->is_array()) {
    for (const nlohmann::json& file : *files)
      shards.push_back(
          {source.path + "/" +
               checked_name(source, file.is_object() ? file.value("filename", nlohmann::json()) : file, kStateFile),
           nullptr});
  }
  if (shards.empty()) throw input_error("read {}/{}: no file in _data_files; expected one", shown, kStateFile);
  return shards;
}

std::shared_ptr<const Dataset> open_saved(const Source& source, const std::string& split) {
  ParquetOptions options = parquet_options(source);
  options.ipc = true;
  std::vector<Shard> shards =
      has(source, kStateFile) ? saved_files(source, split) : choose_shards(source, split, is_arrow_name);
  if (shards.empty()) {
    throw input_error("open {}: no *.arrow file; found {}", shown_name(source.text), describe(source.listing));
  }
  return std::make_shared<ParquetDataset>(std::move(shards), options);
}

// The folder of a split of a DatasetDict.
std::string split_folder(const Source& source, const std::string& split) {
  std::vector<std::string> splits;
  const nlohmann::json dict = read_json(source, kDictFile);
  const auto listed = dict.find("splits");
  if (listed != dict.end() && listed->is_array()) {
    for (const nlohmann::json& each : *listed) splits.push_back(checked_name(source, each, kDictFile));
  }
  const std::string shown = "open " + shown_name(source.text) + ": ";
  if (split.empty() && splits.size() == 1) return splits.front();
  if (split.empty() && splits.empty()) throw input_error("{}found no splits in {}", shown, kDictFile);
  if (split.empty())
    throw input_error("{}found the splits {}; choose one of them: split=\"{}\" (--split {})", shown, join(splits),
                      splits.front(), splits.front());
  if (std::ranges::find(splits, split) != splits.end()) return split;
  throw argument_error("{}no split '{}'; available: {}", shown, split, join(splits));
}

}  // namespace

bool recognises_arrow(const Source& source) {
  if (!source.folder) return begins_as_arrow(source.head);
  return has(source, kDictFile) || folder_begins(source, is_arrow_name, begins_as_arrow);
}

std::shared_ptr<const Dataset> open_arrow(const Source& source, const std::string& split) {
  if (!has(source, kDictFile)) return open_saved(source, split);
  const std::string options = source.text.substr(source.path.size());
  const Source part = inspect_source(source.path + "/" + split_folder(source, split) + options);
  if (!part.folder) throw io_error("open", shown_name(part.path), ENOENT);
  return open_saved(part, "");
}

}  // namespace unstarve
