#pragma once
// The folder that a pack fills, and what of it is finished.
//
//   DST/.unstarve-pack/plan.json                  what is being made; another plan is refused
//   DST/.unstarve-pack/train-00000.tar.json       the shard's entry, written when the shard has its final name
//   DST/.unstarve-pack/train-00001.tar.partial    a shard that is being written
//   DST/manifest.json                             all entries; then .unstarve-pack goes
//
// A shard is finished when it has an entry (there or in the manifest) and its length. Killed at any moment, at worst
// the shard that was being written is written again. Parts of one pack may share the folder; whichever ends last writes
// the manifest.
//
// Threads:   finished() and publish() from one thread each.
// Failure:   Error(kArgument) for a folder that holds something else; Error(kIo), Error(kInput).

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "unstarve/jobs/pack/pack_file.h"
#include "unstarve/jobs/pack/pack_manifest.h"

namespace unstarve {

class PackFolder {
 public:
  // Makes the folder, or takes up what an earlier run of the same plan left. `plan` has no shards; its other fields
  // and `shard_count` say what is made.
  PackFolder(std::filesystem::path folder, PackManifest plan, std::size_t shard_count);

  // The entry of a shard that is there whole.
  [[nodiscard]] std::optional<ShardEntry> finished(const std::string& file) const;
  // A file of the folder, to be filled and handed to publish().
  [[nodiscard]] std::unique_ptr<PackFile> begin(const std::string& file) const;
  // Gives the files beside the shard, then the shard, their names; then notes the entry. `index` and `scan_index` are
  // the bytes of those that the entry names.
  void publish(PackFile& shard, const ShardEntry& entry, std::string_view index, std::string_view scan_index) const;
  // Writes the manifest when every one of `files` (all shards, in order) is finished; false when some are not.
  [[nodiscard]] bool complete(const std::vector<std::string>& files);

 private:
  void refuse_foreign() const;
  void read_manifest();
  void take_up() const;
  // As the manifest says that lies there now, maybe written by another part.
  [[nodiscard]] std::optional<ShardEntry> finished_of_manifest(const std::string& file) const;
  [[nodiscard]] std::filesystem::path entry_path(const std::string& file) const { return work_ / (file + ".json"); }

  std::filesystem::path folder_;
  std::filesystem::path work_;
  PackManifest plan_;
  std::size_t shard_count_;
  std::optional<PackManifest> manifest_;
  std::unordered_map<std::string, std::size_t> in_manifest_;  // where a shard's entry stands there
};

}  // namespace unstarve
