#include "unstarve/storage/io/uncached_reads.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "unstarve/core/aligned.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/file_descriptor.h"
#include "unstarve/storage/io/residency.h"

namespace unstarve {
namespace {

// Alignment of offsets, lengths and memory: disk blocks have 512 to 4096 bytes.
constexpr std::uint64_t kBlock = 4096;

std::uint64_t down(std::uint64_t value) { return value / kBlock * kBlock; }
std::uint64_t up(std::uint64_t value) { return down(value + kBlock - 1); }

class DirectFile final : public ByteSource {
 public:
  DirectFile(FileDescriptor file, const ByteSource& source)
      : file_(std::move(file)), name_(source.name()), stamp_(source.stamp()) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return stamp_.bytes; }
  [[nodiscard]] SourceStamp stamp() const noexcept override { return stamp_; }
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
    check_range(*this, offset, out.size());
    const std::uint64_t begin = down(offset), bytes = up(offset + out.size()) - begin;
    AlignedBytes memory(bytes + kBlock);
    std::uint8_t* const room = memory.data() + (up(reinterpret_cast<std::uintptr_t>(memory.data())) -
                                                reinterpret_cast<std::uintptr_t>(memory.data()));
    const std::uint64_t needed = offset + out.size() - begin;
    for (std::uint64_t done = 0; done < needed;) {
      const ssize_t got = ::pread(file_.get(), room + done, bytes - done, static_cast<off_t>(begin + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw io_error("read at offset " + std::to_string(begin + done) + " of", name_, errno);
      const auto more = static_cast<std::uint64_t>(got);
      // A read that ends within a block is at the end of the file.
      if (more == 0 || (more % kBlock != 0 && done + more < needed)) {
        throw Error(ErrorKind::kIo, "read " + name_ + ": it ended at " + std::to_string(begin + done + more) + " of " +
                                        std::to_string(size()) + " bytes; the file was truncated meanwhile");
      }
      done += more;
    }
    std::memcpy(out.data(), room + (offset - begin), out.size());
  }

  // Whether the file system supports O_DIRECT.
  [[nodiscard]] bool works() const {
    try {
      std::uint8_t first = 0;
      read(0, {&first, 1});
      return true;
    } catch (const Error&) {
      return false;
    }
  }

 private:
  FileDescriptor file_;
  std::string name_;
  SourceStamp stamp_;
};

}  // namespace

bool PageCacheBudget::take(std::uint64_t bytes) noexcept {
  std::uint64_t left = left_.load(std::memory_order_relaxed);
  do {
    if (bytes > left) return false;
  } while (!left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed));
  return true;
}

PageCacheBudget& PageCacheBudget::of_process() {
  static PageCacheBudget budget(static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) *
                                static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L)) / 2);
  return budget;
}

std::unique_ptr<const ByteSource> open_uncached(const ByteSource& source, PageCacheBudget& budget) {
  if (is_url(source.name()) || source.size() == 0) return nullptr;
  FileDescriptor file(::open(source.name().c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  if (static_cast<std::uint64_t>(status.st_size) != source.size()) return nullptr;  // replaced meanwhile
  if (in_page_cache(file.get(), source.size() / 2) || budget.take(source.size())) return nullptr;
  file = FileDescriptor(::open(source.name().c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  if (!file.valid()) return nullptr;
  auto direct = std::make_unique<const DirectFile>(std::move(file), source);
  if (!direct->works()) return nullptr;
  return direct;
}

}  // namespace unstarve
