#include "unstarve/jobs/pack/summed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "unstarve/core/error.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/io/residency.h"

namespace unstarve {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

}  // namespace

SummedFile::SummedFile(std::string path)
    : path_(std::move(path)),
      // O_NONBLOCK: opening a named pipe must not block.
      file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {
  if (!file_.valid()) throw io_error("open", path_, errno);
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw io_error("stat", path_, errno);
  if (!S_ISREG(status.st_mode)) throw Error(ErrorKind::kIo, "open " + path_ + ": not a regular file");
  stamp_.bytes = static_cast<std::uint64_t>(status.st_size);
  stamp_.changed_ns = static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
  leave_cached_ = in_page_cache(file_.get(), stamp_.bytes / 2);
  (void)::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // only a hint
}

void SummedFile::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  check_range(*this, offset, out.size());
  sum_until(offset);
  fill(offset, out);
  if (offset > summed_ || offset + out.size() <= summed_) return;
  crc_ = crc32c(out.subspan(summed_ - offset), crc_);
  summed_ = offset + out.size();
}

std::uint32_t SummedFile::sum() const {
  sum_until(size());
  return crc_;
}

void SummedFile::sum_until(std::uint64_t end) const {
  if (summed_ < end) piece_.reserve_discard(kPieceBytes);
  while (summed_ < end) {
    const std::span<std::uint8_t> piece(piece_.data(), std::min<std::uint64_t>(kPieceBytes, end - summed_));
    fill(summed_, piece);
    crc_ = crc32c(piece, crc_);
    summed_ += piece.size();
  }
}

void SummedFile::fill(std::uint64_t offset, std::span<std::uint8_t> out) const {
  const Transfer read = read_at(file_.get(), offset, out);
  const std::string end = std::to_string(offset + read.bytes);
  if (read.error != 0) throw io_error("read at offset " + end + " of", path_, read.error);
  if (read.bytes < out.size()) {
    throw Error(ErrorKind::kIo,
                "read " + path_ + ": ended at byte " + end + " of " + std::to_string(size()) + " while reading");
  }
  if (leave_cached_) return;
  (void)::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(out.size()), POSIX_FADV_DONTNEED);
}

}  // namespace unstarve
