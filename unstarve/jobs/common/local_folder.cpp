#include "unstarve/jobs/common/local_folder.h"

#include <cerrno>
#include <cstdio>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

void reject_url_as_folder(const std::string& command, const std::filesystem::path& folder) {
  if (!has_scheme(folder.string())) return;
  throw Error(ErrorKind::kArgument,
              command + ": " + folder.string() +
                  " is a URL; expected a local folder. Data can be read from URLs, but not written or verified "
                  "there. Use a local folder and copy it with the tools of the object store");
}

void make_folders(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw io_error("create folder", folder.string(), failed.value());
}

void rename_to(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw io_error("rename to", to.string(), errno);
}

}  // namespace unstarve
