#include "unstarve/storage/index/pack_classes.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A shard takes some 150 bytes of it, a class its name: far above that of any pack.
constexpr std::uintmax_t kMaxManifestBytes = std::uintmax_t{64} << 20;

// Names of the shards that it lists; empty for a file that is no pack's manifest.
std::set<std::string> files_of(const Json& manifest) {
  std::set<std::string> files;
  if (!manifest.is_object() || !manifest.contains("unstarve") || !manifest.contains("shards")) return files;
  for (const Json& shard : manifest["shards"]) {
    if (shard.is_object() && shard.contains("file") && shard["file"].is_string()) files.insert(shard["file"]);
  }
  return files;
}

}  // namespace

std::vector<std::string> pack_classes(std::span<const std::string> shards) {
  if (shards.empty() || std::any_of(shards.begin(), shards.end(), [](const auto& name) { return is_url(name); })) {
    return {};
  }
  const fs::path folder = fs::path(shards.front()).parent_path();
  const fs::path path = folder / "manifest.json";
  std::error_code failed;
  if (!fs::is_regular_file(path, failed) || fs::file_size(path, failed) > kMaxManifestBytes) return {};
  const Json manifest = Json::parse(read_text_file(path), nullptr, /*allow_exceptions=*/false);
  const std::set<std::string> files = files_of(manifest);
  for (const std::string& shard : shards) {
    const fs::path file(shard);
    if (file.parent_path() != folder || !files.contains(file.filename().string())) return {};
  }
  std::vector<std::string> classes;
  if (!manifest.contains("classes") || !manifest["classes"].is_array()) return classes;
  for (const Json& name : manifest["classes"]) {
    if (!name.is_string()) {
      throw Error(ErrorKind::kInput, "read " + path.string() + ": class " + std::to_string(classes.size()) +
                                         " is no text; make the folder again with unstarve pack");
    }
    classes.push_back(name);
  }
  return classes;
}

}  // namespace unstarve
