#include "unstarve/storage/source/open_bytes.h"

#include "unstarve/storage/bytes/local_bytes.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve {

std::shared_ptr<const ByteSource> open_bytes(const std::string& path_or_url) {
  if (is_url(path_or_url)) return RemoteStore::of_process().open(path_or_url);
  return std::make_shared<LocalBytes>(path_or_url);
}

}  // namespace unstarve
