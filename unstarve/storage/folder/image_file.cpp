#include "unstarve/storage/folder/image_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/file_descriptor.h"

namespace unstarve {

std::span<const std::uint8_t> read_image_file(int folder, const char* path, const Dataset& data, std::uint64_t id,
                                              AlignedBytes& storage) {
  // O_NONBLOCK: what has become a pipe since the folder was listed must not hang the worker.
  const FileDescriptor file(::openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.valid()) throw io_error("open", data.location(id), errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw io_error("look at", data.location(id), errno);
  if (!S_ISREG(status.st_mode)) throw Error(ErrorKind::kInput, "read " + data.location(id) + ": not a file");
  if (status.st_size == 0) {
    throw Error(ErrorKind::kInput, "read " + data.location(id) + ": the file is empty (0 bytes)");
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes > kMaxImageBytes) {
    throw Error(ErrorKind::kInput, "read " + data.location(id) + ": " + std::to_string(bytes) +
                                       " bytes are too many for one image, expected at most " +
                                       std::to_string(kMaxImageBytes));
  }
  storage.reserve_discard(bytes + kReadableBehind);
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(file.get(), storage.data() + done, bytes - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw io_error("read", data.location(id), errno);
    if (got == 0) {
      throw Error(ErrorKind::kIo, "read " + data.location(id) + ": the file shrank while it was read, from " +
                                      std::to_string(bytes) + " to " + std::to_string(done) + " bytes");
    }
    done += static_cast<std::size_t>(got);
  }
  return {storage.data(), bytes};
}

}  // namespace unstarve
