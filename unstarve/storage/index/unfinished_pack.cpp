#include "unstarve/storage/index/unfinished_pack.h"

#include <filesystem>
#include <set>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {

std::vector<std::string> note_unfinished_packs(std::span<const std::string> shards) {
  namespace fs = std::filesystem;
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
