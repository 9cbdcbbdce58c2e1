#include "unstarve/jobs/pack/pack_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "unstarve/core/file_transfer.h"
#include "unstarve/storage/bytes/crc.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::uint64_t kBeginBytes = std::uint64_t{8} << 20;

// Syncs a rename to disk. Some file systems cannot sync a folder; errors are ignored.
void sync_folder(const fs::path& folder) {
  const FileDescriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.valid()) ::fsync(file.get());
}

// Whether the open file still has this name: another process may have renamed it before the lock was acquired.
bool still_named(int file, const fs::path& path) {
  struct stat open {
  }, named{};
  return ::fstat(file, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

}  // namespace

PackFile::PackFile(fs::path final_path, const fs::path& work, Writers writers)
    : final_(std::move(final_path)), buffer_(kBufferBytes) {
  const std::string name = final_.filename().string();
  if (writers == Writers::kOne) {
    partial_ = work / (name + ".partial");
    open_locked();
    return;
  }
  // A unique name: otherwise, if the folder is cleared in between, a rename could publish the unfinished file of
  // another process.
  std::random_device random;
  while (!file_.valid()) {
    partial_ = work / fmt::format("{}.{:08x}{:08x}.partial", name, random(), random());
    file_ = FileDescriptor(::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file_.valid() && errno != EEXIST) throw failed("write", errno);
  }
}

PackFile::~PackFile() {
  if (file_.valid() && !published_) ::unlink(partial_.c_str());
}

Error PackFile::failed(const char* operation, int reason) const { return io_error(operation, final_.string(), reason); }

void PackFile::open_locked() {
  while (true) {
    FileDescriptor file(::open(partial_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!file.valid()) throw failed("write", errno);
    int locked = 0;
    do {
      locked = ::flock(file.get(), LOCK_EX | LOCK_NB);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0 && errno == EWOULDBLOCK)
      throw Error(ErrorKind::kArgument,
                  "pack: another process is writing " + final_.string() + "; wait for it, or use another --part");
    if (locked != 0) throw failed("lock", errno);
    if (!still_named(file.get(), partial_)) continue;
    file_ = std::move(file);
    if (::ftruncate(file_.get(), 0) != 0) throw failed("write", errno);
    return;
  }
}

void PackFile::write(std::span<const std::uint8_t> bytes) {
  crc_ = crc32c(bytes, crc_);
  bytes_ += bytes.size();
  if (bytes.size() > kBufferBytes - buffered_) flush();
  if (bytes.size() >= kBufferBytes) return write_out(bytes);
  if (!bytes.empty()) std::memcpy(buffer_.data() + buffered_, bytes.data(), bytes.size());
  buffered_ += bytes.size();
}

void PackFile::flush() {
  write_out({buffer_.data(), buffered_});
  buffered_ = 0;
}

void PackFile::write_out(std::span<const std::uint8_t> bytes) {
  write_fully(file_.get(), final_.string(), written_, bytes);
  written_ += bytes.size();
  if (written_ - begun_ < kBeginBytes) return;
  // Only a hint: without support, publish() takes longer.
  (void)::sync_file_range(file_.get(), static_cast<off_t>(begun_), static_cast<off_t>(written_ - begun_),
                          SYNC_FILE_RANGE_WRITE);
  begun_ = written_;
}

FileSum PackFile::sum() const { return {final_.filename().string(), bytes_, crc_}; }

void PackFile::publish() {
  flush();
  if (::fsync(file_.get()) != 0) throw failed("sync", errno);
  if (!still_named(file_.get(), partial_)) throw failed("rename to", ENOENT);
  if (::rename(partial_.c_str(), final_.c_str()) != 0) throw failed("rename to", errno);
  published_ = true;
  sync_folder(final_.has_parent_path() ? final_.parent_path() : fs::path("."));
}

FileSum sum_of(const std::string& name, std::string_view text) {
  return {name, text.size(), crc32c({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()})};
}

void publish_text(const fs::path& final_path, const fs::path& work, std::string_view text) {
  PackFile file(final_path, work, PackFile::Writers::kMany);
  file.write(text);
  file.publish();
}

}  // namespace unstarve
