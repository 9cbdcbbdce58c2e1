#include "unstarve/storage/index/packed_shards.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "unstarve/core/file.h"
#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Far more than any pack needs: about 150 bytes per shard, and the class names.
constexpr std::uintmax_t kMaxManifestBytes = std::uintmax_t{64} << 20;
constexpr const char* kName = "manifest.json";

// The shards that it lists; empty if it is not the manifest of a pack.
std::set<std::string> files_of(const Json& manifest) {
  std::set<std::string> files;
  if (!manifest.is_object() || !manifest.contains("unstarve") || !manifest.contains("shards")) return files;
  for (const Json& shard : manifest["shards"]) {
    if (shard.is_object() && shard.contains("file") && shard["file"].is_string()) files.insert(shard["file"]);
  }
  return files;
}

// "d/" and "x.tar".
std::pair<std::string, std::string> parts_of(const std::string& shard) {
  const std::size_t end = shard.rfind('/') + 1;
  return {shard.substr(0, end), shard.substr(end)};
}

// Nothing if there is none.
std::optional<std::string> read_manifest(const std::string& folder) {
  const std::string path = folder + kName;
  if (!is_url(path)) {
    std::error_code failed;
    if (!fs::is_regular_file(path, failed) || fs::file_size(path, failed) > kMaxManifestBytes) return std::nullopt;
    return read_text_file(path);
  }
  const std::shared_ptr<const ByteSource> file = RemoteStore::of_process().find(path);
  if (!file || file->size() > kMaxManifestBytes) return std::nullopt;
  return read_text(*file, file->size());
}

}  // namespace

std::vector<std::string> pack_classes(std::span<const std::string> shards) {
  const auto has_query = [](const std::string& shard) {
    return shard.starts_with("http") && is_url(shard) && shard.find('?') != std::string::npos;
  };
  if (shards.empty() || std::any_of(shards.begin(), shards.end(), has_query)) return {};
  const auto [folder, first] = parts_of(shards.front());
  const std::optional<std::string> text = read_manifest(folder);
  if (!text) return {};
  const Json manifest = try_parse_json(*text);
  const std::set<std::string> files = files_of(manifest);
  for (const std::string& shard : shards) {
    const auto [own_folder, file] = parts_of(shard);
    if (own_folder != folder || !files.contains(file)) return {};
  }
  std::vector<std::string> classes;
  if (!manifest.contains("classes") || !manifest["classes"].is_array()) return classes;
  for (const Json& name : manifest["classes"]) {
    if (!name.is_string()) {
      throw input_error("read {}: class {} is not a string. Recreate the folder with unstarve pack",
                        shown_name(folder + kName), classes.size());
    }
    classes.push_back(name);
  }
  return classes;
}

std::vector<std::string> note_unfinished_packs(std::span<const std::string> shards) {
  std::set<fs::path> folders;
  for (const std::string& shard : shards) {
    if (!is_url(shard)) folders.insert(fs::path(shard).parent_path());
  }
  std::vector<std::string> notes;
  for (const fs::path& folder : folders) {
    std::error_code failed;
    if (!fs::is_directory(folder / kPackWorkName, failed)) continue;
    notes.push_back((folder.empty() ? "." : folder.string()) +
                    " is not packed to its end, so samples may be missing (" + kPackWorkName +
                    " is present); run the same unstarve pack again, or its other parts");
    emit_notice(notes.back());
  }
  return notes;
}

}  // namespace unstarve
