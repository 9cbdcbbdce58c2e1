#include "unstarve/jobs/pack/pack_folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/common/local_folder.h"
#include "unstarve/storage/index/packed_shards.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlanName = "plan.json";

// The properties that identify a pack.
Json plan_json(const PackManifest& plan, std::size_t shards) {
  return {{"unstarve", plan.version},
          {"format", plan.format},
          {"options", parse_ordered_json(plan.options)},
          {"source", parse_ordered_json(plan.source)},
          {"classes", plan.classes},
          {"splits", plan.split_names},
          {"shards", shards}};
}

std::string text_of(const Json& json) { return json_text(json, 1) + "\n"; }

// Describes the first difference.
std::string difference(const Json& found, const Json& expected, const std::string& name = "") {
  if (found.is_object() && expected.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      const std::string inner = name.empty() ? key : name + "." + key;
      if (!found.contains(key)) return inner + " is missing";
      if (found.at(key) != value) return difference(found.at(key), value, inner);
    }
    for (const auto& [key, value] : found.items()) {
      if (!expected.contains(key)) return (name.empty() ? key : name + "." + key) + " is not requested";
    }
  }
  const auto shown = [](const Json& json) {
    const std::string text = json_text(json);
    return text.size() <= 80 ? text : text.substr(0, 80) + "...";
  };
  return name + ": found " + shown(found) + "; expected " + shown(expected);
}

// Several parts may remove the folder at the same time, or one may write its manifest in it meanwhile: then one
// attempt can end early because a file is already gone, or because there is a new one.
void remove_work_folder(const fs::path& path) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::error_code failed;  // after the last attempt, a leftover work folder is harmless
    fs::remove_all(path, failed);
    if (!failed) return;
  }
}

bool present(const fs::path& path) {
  std::error_code failed;
  return fs::exists(fs::status(path, failed));
}

// Whether the file exists with its full length.
bool is_whole(const fs::path& folder, const FileSum& sum) {
  std::error_code failed;
  const fs::path path = folder / sum.file;
  return fs::is_regular_file(path, failed) && fs::file_size(path, failed) == sum.bytes && !failed;
}

}  // namespace

PackFolder::PackFolder(fs::path folder, PackManifest plan, std::size_t shard_count)
    : folder_(std::move(folder)), work_(folder_ / kPackWorkName), plan_(std::move(plan)), shard_count_(shard_count) {
  reject_foreign();
  read_manifest();
  resume();
}

void PackFolder::reject_foreign() const {
  std::error_code failed;
  const fs::file_status status = fs::status(folder_, failed);
  if (fs::exists(status) && !fs::is_directory(status))
    throw Error(ErrorKind::kArgument, "pack: " + folder_.string() + " is not a folder");
  if (!fs::exists(status)) return;
  const bool empty = fs::is_empty(folder_, failed);
  if (failed) throw io_error("read folder", folder_.string(), failed.value());
  // In this order, because another part may be creating the work folder or finishing: the manifest is written before
  // the work folder is removed.
  if (empty || present(work_) || present(folder_ / kManifestName)) return;
  throw Error(ErrorKind::kArgument,
              "pack: " + folder_.string() + " is not empty and has no " + kManifestName +
                  "; expected a new or empty folder, or one created by unstarve pack. Use another folder. If " +
                  kManifestName + " was lost, pack again into a new folder");
}

void PackFolder::read_manifest() {
  const fs::path path = folder_ / kManifestName;
  manifest_.reset();
  in_manifest_.clear();
  if (!present(path)) return;
  PackManifest found = manifest_from_json(read_text_file(path), path.string());
  // Compares texts after parsing, because serialisation changes text that is not UTF-8.
  const Json ours = parse_ordered_json(text_of(plan_json(plan_, shard_count_)));
  const Json theirs = plan_json(found, found.shards.size());
  if (ours != theirs)
    throw Error(ErrorKind::kArgument, "pack: " + folder_.string() + " contains another pack (" +
                                          difference(theirs, ours) + "); use another folder, or remove this one");
  for (std::size_t i = 0; i < found.shards.size(); ++i) in_manifest_[found.shards[i].shard.file] = i;
  manifest_ = std::move(found);
}

void PackFolder::resume() const {
  make_folders(work_);
  const Json ours = plan_json(plan_, shard_count_);
  if (!present(work_ / kPlanName)) return publish_text(work_ / kPlanName, work_, text_of(ours));
  const Json found = try_parse_ordered_json(read_text_file(work_ / kPlanName));
  const Json expected = parse_ordered_json(text_of(ours));
  if (found != expected)
    throw Error(ErrorKind::kArgument,
                "pack: " + folder_.string() + " contains an unfinished pack with other options (" +
                    difference(found, expected) + "); use the original options or another folder, or remove this one");
}

std::optional<ShardEntry> PackFolder::finished_of_manifest(const std::string& file) const {
  const fs::path path = folder_ / kManifestName;
  PackManifest found = manifest_from_json(read_text_file(path), path.string());
  for (ShardEntry& entry : found.shards) {
    if (entry.shard.file == file) return std::move(entry);
  }
  return std::nullopt;
}

std::optional<ShardEntry> PackFolder::finished(const std::string& file) const {
  std::optional<ShardEntry> entry;
  const auto known = in_manifest_.find(file);
  if (present(entry_path(file))) {  // newer than the manifest
    try {
      entry = shard_entry_from_json(read_text_file(entry_path(file)), entry_path(file).string());
    } catch (const Error&) {
      // Another part may have finished the pack meanwhile and moved the entry to its manifest.
      if (present(entry_path(file)) || !present(folder_ / kManifestName)) throw;
      return finished_of_manifest(file);
    }
  } else if (known != in_manifest_.end()) {
    entry = manifest_->shards[known->second];
  }
  if (!entry || !is_whole(folder_, entry->shard)) return std::nullopt;
  for (const FileSum* sidecar : {&entry->index, &entry->scan_index}) {
    if (!sidecar->file.empty() && !is_whole(folder_, *sidecar)) return std::nullopt;
  }
  return entry;
}

std::unique_ptr<PackFile> PackFolder::begin(const std::string& file) const {
  return std::make_unique<PackFile>(folder_ / file, work_, PackFile::Writers::kOne);
}

void PackFolder::publish(PackFile& shard, const ShardEntry& entry, std::string_view index,
                         std::string_view scan_index) const {
  if (!entry.index.file.empty()) publish_text(folder_ / entry.index.file, work_, index);
  if (!entry.scan_index.file.empty()) publish_text(folder_ / entry.scan_index.file, work_, scan_index);
  shard.publish();
  publish_text(entry_path(entry.shard.file), work_, to_json(entry));
}

bool PackFolder::complete(const std::vector<std::string>& files) {
  PackManifest whole = plan_;
  for (const std::string& file : files) {
    std::optional<ShardEntry> entry = finished(file);
    if (!entry) break;
    whole.shards.push_back(std::move(*entry));
  }
  if (whole.shards.size() < files.size()) {
    // Another part may have written the manifest meanwhile and removed the entries.
    read_manifest();
    for (const std::string& file : files) {
      if (!manifest_ || !finished(file)) return false;
    }
    // That part may have left the work folder in place because it contained one of our files.
    remove_work_folder(work_);
    return true;
  }
  try {
    publish_text(folder_ / kManifestName, work_, to_json(whole));
  } catch (const Error&) {
    read_manifest();  // of the part that finished first and removed the work folder
    if (!manifest_) throw;
  }
  read_manifest();
  remove_work_folder(work_);
  return true;
}

}  // namespace unstarve
