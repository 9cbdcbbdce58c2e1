#include "unstarve/core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/core/map_guard.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

FileDescriptor open_for_reading(const fs::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) throw io_error("open", path.string(), errno);
  return file;
}

// For devices and pipes: renaming over /dev/null would replace it, and they have no offsets to write at.
void write_in_place(const fs::path& path, std::span<const std::span<const std::uint8_t>> parts) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) throw io_error("open", path.string(), errno);
  for (std::span<const std::uint8_t> part : parts) {
    while (!part.empty()) {
      const ssize_t n = ::write(file.get(), part.data(), part.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw io_error("write", path.string(), errno);
      part = part.subspan(static_cast<std::size_t>(n));
    }
  }
  if (::close(file.release()) != 0) throw io_error("close", path.string(), errno);
}

// The target of a symbolic link, which may not exist yet, is written; the link itself stays.
fs::path follow_links(fs::path path) {
  std::error_code none;
  for (int links = 0; fs::is_symlink(path, none); ++links) {
    if (links == 40) throw io_error("write", path.string(), ELOOP);  // the kernel's limit
    path = path.parent_path() / fs::read_symlink(path);
  }
  return path;
}

// Makes the rename itself durable. Errors are ignored: some file systems cannot sync a folder.
void sync_folder(const fs::path& folder) {
  FileDescriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.valid()) ::fsync(file.get());
}

}  // namespace

std::string read_text_file(const fs::path& path) {
  const FileDescriptor file = open_for_reading(path);
  struct stat info {};
  std::string text;
  if (::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode))
    text.reserve(static_cast<std::size_t>(info.st_size) + 1);
  // Read to the end rather than to the size: files of /proc report size 0.
  char chunk[16384];
  while (true) {
    const ssize_t n = ::read(file.get(), chunk, sizeof chunk);
    if (n == 0) return text;
    if (n < 0) {
      if (errno == EINTR) continue;
      throw io_error("read", path.string(), errno);
    }
    text.append(chunk, static_cast<std::size_t>(n));
  }
}

void write_file_atomically(const fs::path& path, std::string_view contents, Durability durability) {
  const std::span<const std::uint8_t> whole{reinterpret_cast<const std::uint8_t*>(contents.data()), contents.size()};
  write_file_atomically(path, {&whole, 1}, durability);
}

void write_file_atomically(const fs::path& path, std::span<const std::span<const std::uint8_t>> parts,
                           Durability durability) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  if (fs::is_directory(status)) throw io_error("write", path.string(), EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_in_place(path, parts);
  const fs::path target = follow_links(path);  // of /proc/self/fd/1, a pipe has no path

  // Threads of one process may write the same path, and processes of two containers may have the same number.
  static std::atomic<unsigned> serial{0};
  fs::path partial;
  FileDescriptor file;
  while (!file.valid()) {
    partial = target;
    partial += fmt::format(".partial-{}-{}", ::getpid(), serial.fetch_add(1, std::memory_order_relaxed));
    file = FileDescriptor(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file.valid() && errno != EEXIST) throw io_error("write", path.string(), errno);
  }
  try {
    std::uint64_t offset = 0;
    for (const std::span<const std::uint8_t> part : parts) {
      write_fully(file.get(), path.string(), offset, part);
      offset += part.size();
    }
    if (durability == Durability::kSynced && ::fsync(file.get()) != 0) throw io_error("sync", path.string(), errno);
    if (::close(file.release()) != 0) throw io_error("close", path.string(), errno);
    if (::rename(partial.c_str(), target.c_str()) != 0) throw io_error("rename to", path.string(), errno);
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
  if (durability == Durability::kSynced) sync_folder(target.has_parent_path() ? target.parent_path() : fs::path("."));
}

MappedFile::MappedFile(const fs::path& path) {
  const FileDescriptor file = open_for_reading(path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) throw io_error("stat", path.string(), errno);
  if (S_ISDIR(info.st_mode)) throw io_error("map", path.string(), EISDIR);
  if (!S_ISREG(info.st_mode)) throw Error(ErrorKind::kIo, "map " + path.string() + ": not a regular file");
  if (info.st_size == 0) return;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) throw io_error("map", path.string(), errno);
  data_ = static_cast<const std::uint8_t*>(memory);
  size_ = size;
  guard_map(data_, size_, path.string());
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  forget_map(data_);
  ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace unstarve
