#pragma once
// Opens a path or URL as a ByteSource: local files are mapped, objects are read over the network.

#include <memory>
#include <string>

#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

// A local path, or a URL (http://, https://, s3://, gs://, az://); Error(kMissing) for a URL in a build without
// libcurl.
[[nodiscard]] std::shared_ptr<const ByteSource> open_bytes(const std::string& path_or_url);

// One shard of a dataset. The name alone suffices to open it again; an open source is used as it is.
struct Shard {
  std::string name;
  std::shared_ptr<const ByteSource> bytes;  // null: open_bytes(name)
};

}  // namespace unstarve
