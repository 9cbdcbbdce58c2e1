#include "unstarve/jobs/common/local_folder.h"

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

void refuse_url_as_folder(const std::string& verb, const std::filesystem::path& folder) {
  if (!has_scheme(folder.string())) return;
  throw Error(ErrorKind::kArgument,
              verb + ": " + folder.string() +
                  " is a URL, expected a folder of this machine; data can be read from there, but not written or "
                  "checked there: use a local folder and the tools of the store to copy it");
}

}  // namespace unstarve
