#include "unstarve/jobs/common/local_folder.h"

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {

void refuse_url_as_folder(const std::string& verb, const std::filesystem::path& folder) {
  if (!has_scheme(folder.string())) return;
  throw Error(ErrorKind::kArgument,
              verb + ": " + folder.string() +
                  " is a URL; expected a local folder. Data can be read from URLs, but not written or verified "
                  "there: use a local folder and copy it with the tools of the store");
}

}  // namespace unstarve
