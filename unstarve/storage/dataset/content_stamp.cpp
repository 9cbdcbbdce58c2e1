#include "unstarve/storage/dataset/content_stamp.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/digest.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kExamined = 128;  // records that are files

// Relative paths name other files in another folder. Not of generated data, for example.
void add_path(Digest& digest, const std::string& path) {
  std::error_code failed;
  const bool is_file = path.find("://") == std::string::npos && !path.starts_with('/');
  const std::filesystem::path whole = is_file ? std::filesystem::absolute(path, failed) : std::filesystem::path();
  digest.add(is_file && !failed && std::filesystem::exists(whole, failed) ? std::string_view(whole.native())
                                                                          : std::string_view(path));
}

void add_state(Digest& digest, const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  digest.add(static_cast<std::uint64_t>(status.st_size));
  digest.add(static_cast<std::uint64_t>(status.st_mtim.tv_sec));
  digest.add(static_cast<std::uint64_t>(status.st_mtim.tv_nsec));
}

}  // namespace

std::uint64_t content_stamp(const Dataset& data) {
  Digest digest;
  digest.add(data.format());
  digest.add(data.size());
  const std::vector<DataFile> shards = data.files();
  for (const DataFile& shard : shards) {
    add_path(digest, shard.path);
    digest.add(shard.first);
    digest.add(static_cast<std::uint64_t>(shard.changed));
    add_state(digest, shard.path);
  }
  if (!shards.empty() || data.size() == 0) return digest.value();
  add_path(digest, data.record_location(0).file);
  std::string list;  // the manifest of the record before
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    const RecordLocation location = data.record_location(id);
    if (location.list != list) {
      list = location.list;
      add_path(digest, list);
      add_state(digest, list);  // it has the labels
    }
    digest.add(location.file);
    digest.add(location.member);
    digest.add(location.number.value_or(0));
    digest.add(location.offset.value_or(0));
  }
  const std::uint64_t examined = std::min(data.size(), kExamined);
  for (std::uint64_t i = 0; i < examined; ++i) add_state(digest, data.record_location(i * data.size() / examined).file);
  return digest.value();
}

}  // namespace unstarve
