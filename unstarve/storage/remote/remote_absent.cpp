// All functions of remote.h in a build without libcurl, OpenSSL or expat.
#include "unstarve/core/format_error.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve {
namespace {

Error missing(const std::string& operation) {
  return missing_error(
      "{}: this build cannot read remote objects (install libcurl4-openssl-dev, libssl-dev and libexpat1-dev, then "
      "configure with -DUNSTARVE_REMOTE=ON)",
      operation);
}

}  // namespace

struct RemoteStore::Parts {};

RemoteOptions remote_options_from_environment() { throw missing("remote options"); }
std::string url_below(const std::string&, const std::string&) { throw missing("open URL"); }
RemoteStore::RemoteStore(RemoteOptions) { throw missing("remote store"); }
RemoteStore::~RemoteStore() = default;
// Messages omit the URL: this build has no parser to remove its secrets.
std::shared_ptr<const ByteSource> RemoteStore::open(const std::string&) const { throw missing("open URL"); }
std::shared_ptr<const ByteSource> RemoteStore::open(const RemoteObject&) const { throw missing("open URL"); }
std::shared_ptr<const ByteSource> RemoteStore::find(const std::string&) const { throw missing("open URL"); }
std::shared_ptr<const ByteSource> RemoteStore::open_record(const std::string&, ErrorKind) const {
  throw missing("open URL");
}
std::vector<RemoteObject> RemoteStore::list(const std::string&) const { throw missing("list objects"); }
RemoteLevel RemoteStore::list_level(const std::string&) const { throw missing("list objects"); }
RemoteStatistics RemoteStore::statistics() const { throw missing("remote statistics"); }
RemoteStore& RemoteStore::of_process() { throw missing("remote store"); }

}  // namespace unstarve
