#include "unstarve/jobs/prepare/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/common/local_folder.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFirstPiece = 256 << 10;
constexpr std::uint64_t kLongestPiece = 32 << 20;

fs::path with_suffix(fs::path path, const char* suffix) {
  path += suffix;
  return path;
}

// For large objects over slow connections: only the stall timeout applies. Received bytes are already stored.
RemoteOptions download_options() {
  RemoteOptions options = remote_options_from_environment();
  options.total_timeout = std::max(options.total_timeout, std::chrono::milliseconds(std::chrono::hours(1)));
  options.cache_folder.clear();
  options.hedge_factor = 0;
  return options;
}

// The identity of the object as text.
std::string identity_of(const ByteSource& source) {
  const SourceStamp stamp = source.stamp();
  return json_text(
             nlohmann::ordered_json{{"url", source.name()}, {"bytes", stamp.bytes}, {"version", stamp.changed_ns}}) +
         "\n";
}

// The open partial file and the number of bytes in it.
struct Partial {
  FileDescriptor file;
  std::uint64_t bytes = 0;
};

Partial open_partial(const fs::path& path, const std::string& identity, std::uint64_t object_bytes) {
  const fs::path note = with_suffix(path, ".json");
  Partial partial;
  const bool same = fs::exists(note) && read_text_file(note) == identity;
  partial.file = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (same ? 0 : O_TRUNC), 0666));
  if (!partial.file.valid()) throw io_error("write", path.string(), errno);
  if (!same) write_file_atomically(note, identity);
  struct stat info {};
  if (::fstat(partial.file.get(), &info) != 0) throw io_error("stat", path.string(), errno);
  partial.bytes = std::min(static_cast<std::uint64_t>(info.st_size), object_bytes);
  if (static_cast<std::uint64_t>(info.st_size) > object_bytes &&
      ::ftruncate(partial.file.get(), static_cast<off_t>(object_bytes)) != 0) {
    throw io_error("shorten", path.string(), errno);
  }
  return partial;
}

}  // namespace

DownloadResult download(const std::string& url, const fs::path& path, std::uint64_t expected_bytes,
                        const std::function<void(std::uint64_t bytes)>& advanced, std::stop_token stop) {
  const RemoteStore store(download_options());
  const std::shared_ptr<const ByteSource> source = store.open(url);
  if (expected_bytes > 0 && source->size() != expected_bytes) {
    throw Error(ErrorKind::kInput, fmt::format("download {}: {} bytes; expected {} as published", source->name(),
                                               source->size(), expected_bytes));
  }
  const fs::path partial_path = with_suffix(path, ".partial");
  const Partial partial = open_partial(partial_path, identity_of(*source), source->size());
  if (advanced) advanced(partial.bytes);
  std::vector<std::uint8_t> piece;
  for (std::uint64_t at = partial.bytes; at < source->size();) {
    if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, "download " + source->name() + ": stopped");
    piece.resize(std::min(std::clamp(at, kFirstPiece, kLongestPiece), source->size() - at));
    source->read(at, piece);
    write_fully(partial.file.get(), partial_path.string(), at, piece);
    at += piece.size();
    if (advanced) advanced(piece.size());
  }
  if (::fsync(partial.file.get()) != 0) throw io_error("sync", partial_path.string(), errno);
  rename_to(partial_path, path);
  fs::remove(with_suffix(partial_path, ".json"));
  return {source->size(), partial.bytes};
}

}  // namespace unstarve
