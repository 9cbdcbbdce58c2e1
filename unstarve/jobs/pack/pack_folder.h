#pragma once
// The output folder of a pack, and the list of its finished shards.
//
//   DST/.unstarve-pack/plan.json                  the plan; a run with another plan fails
//   DST/.unstarve-pack/train-00000.tar.json       the entry of a shard, written after the shard has its final name
//   DST/.unstarve-pack/train-00001.tar.partial    a shard that is being written
//   DST/manifest.json                             all entries; .unstarve-pack is removed afterwards
//
// A shard is finished if it has an entry (there or in the manifest) and the length of the entry. After a kill at any
// moment, at most the shards in progress are rewritten. Several parts may share the folder; the last one to finish
// writes the manifest.
//
// Threads: finished() and publish() from one thread each.
// Failure: Error(kArgument) for a folder with other content; Error(kIo), Error(kInput).

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
  // Creates the folder, or continues an earlier run of the same plan. `plan` has no shards; its other fields and
  // `shard_count` identify the plan.
  PackFolder(std::filesystem::path folder, PackManifest plan, std::size_t shard_count);

  // The entry of a finished shard.
  [[nodiscard]] std::optional<ShardEntry> finished(const std::string& file) const;
  // A new file of the folder, to be written and passed to publish().
  [[nodiscard]] std::unique_ptr<PackFile> begin(const std::string& file) const;
  // Publishes the index files of the shard, then the shard, then writes its entry. `index` and `scan_index` are the
  // contents of the files that the entry names.
  void publish(PackFile& shard, const ShardEntry& entry, std::string_view index, std::string_view scan_index) const;
  // Writes the manifest if all `files` (all shards, in order) are finished; returns false otherwise.
  [[nodiscard]] bool complete(const std::vector<std::string>& files);

 private:
  void reject_foreign() const;
  void read_manifest();
  void resume() const;
  // From the current manifest, which another part may have written.
  [[nodiscard]] std::optional<ShardEntry> finished_of_manifest(const std::string& file) const;
  [[nodiscard]] std::filesystem::path entry_path(const std::string& file) const { return work_ / (file + ".json"); }

  std::filesystem::path folder_;
  std::filesystem::path work_;
  PackManifest plan_;
  std::size_t shard_count_;
  std::optional<PackManifest> manifest_;
  std::unordered_map<std::string, std::size_t> in_manifest_;  // index of a shard's entry
};

}  // namespace unstarve
