#include "unstarve/storage/formats/folder/image_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <vector>

#include "unstarve/core/file_transfer.h"
#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/io/batch_reader.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve {
namespace {

// Of a path that does not lead to a readable file. Other errors are those of the file system.
bool is_fault_of_path(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP || error == ENAMETOOLONG ||
         error == ENXIO;
}

Error open_error(const std::string& location, int error) {
  const Error failure = io_error("open", location, error);
  return is_fault_of_path(error) ? Error(ErrorKind::kInput, failure.what()) : failure;
}

Error shrank(const std::string& location, std::size_t bytes, std::size_t now) {
  return Error(ErrorKind::kIo,
               fmt::format("read {}: the file shrank from {} to {} bytes during the read", location, bytes, now));
}

}  // namespace

ImageFile open_image_file(const ImagePath& path) {
  const auto location = [&path] { return path.data->location(path.id); };
  // O_NONBLOCK: a file replaced by a pipe since the listing must not block the worker.
  FileDescriptor file(::openat(path.folder, path.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.valid()) throw open_error(location(), errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw io_error("stat", location(), errno);
  if (!S_ISREG(status.st_mode)) throw input_error("read {}: not a regular file", location());
  if (status.st_size == 0) throw input_error("read {}: the file is empty (0 bytes)", location());
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes > kMaxImageBytes) {
    throw input_error("read {}: {} bytes; expected an image of at most {}", location(), bytes, kMaxImageBytes);
  }
  return {std::move(file), bytes};
}

std::span<const std::uint8_t> read_image_file(const ImagePath& path, AlignedBytes& storage) {
  const ImageFile image = open_image_file(path);
  storage.reserve_discard(image.bytes + kReadableAfter);
  const Transfer read = read_at(image.file.get(), 0, {storage.data(), image.bytes});
  if (read.error != 0) throw io_error("read", path.data->location(path.id), read.error);
  if (read.bytes < image.bytes) throw shrank(path.data->location(path.id), image.bytes, read.bytes);
  return {storage.data(), image.bytes};
}

std::span<const std::uint8_t> read_remote_image(const RemoteImage& image, const Dataset& data, std::uint64_t id,
                                                AlignedBytes& storage) {
  const ErrorKind unreachable = image.any_host ? ErrorKind::kInput : ErrorKind::kIo;
  const auto file = [&] {
    try {
      return RemoteStore::of_process().open_record(image.url, unreachable);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInput) throw;
      throw input_error("read {}: {}", data.location(id), error.what());
    }
  }();
  if (file->size() == 0 || file->size() > kMaxImageBytes) {
    throw input_error("read {}: {} bytes; expected an image of 1 to {} bytes", data.location(id), file->size(),
                      kMaxImageBytes);
  }
  const auto bytes = static_cast<std::size_t>(file->size());
  storage.reserve_discard(bytes + kReadableAfter);
  file->read(0, {storage.data(), bytes});
  return {storage.data(), bytes};
}

void read_image_files(std::span<const ImageFile> files, const Dataset& data, std::span<const std::uint64_t> ids,
                      std::span<RecordBuffer> records) {
  std::vector<FileRead> reads(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    records[i].storage.reserve_discard(files[i].bytes + kReadableAfter);
    reads[i] = {files[i].file.get(), 0, {records[i].storage.data(), files[i].bytes}, 0};
  }
  thread_batch_reader().read(reads);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (reads[i].result < 0) throw io_error("read", data.location(ids[i]), static_cast<int>(-reads[i].result));
    const auto got = static_cast<std::size_t>(reads[i].result);
    if (got < files[i].bytes) throw shrank(data.location(ids[i]), files[i].bytes, got);
  }
}

}  // namespace unstarve
