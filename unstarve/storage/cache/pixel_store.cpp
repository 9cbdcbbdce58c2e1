#include "unstarve/storage/cache/pixel_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/storage/bytes/crc32.h"
#include "unstarve/storage/bytes/file_descriptor.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kMagic = 0x31584950'54534e55;  // "UNSTPIX1" as little-endian bytes
constexpr std::size_t kPage = 4096;
constexpr std::size_t kEntryAlignment = 64;

// In the file, shared by processes: only lock-free atomics.
struct Header {
  std::uint64_t magic;
  std::uint64_t samples;
  std::uint64_t limit;
  std::uint64_t key_bytes;
  std::uint32_t key_crc;
  std::uint32_t unused;
  std::atomic<std::uint64_t> used;  // bytes of pixels handed out
};
static_assert(sizeof(Header) <= kPage && std::atomic<std::uint64_t>::is_always_lock_free);

enum : std::uint64_t { kAbsent = 0, kBeingWritten = 1 };  // anything else: offset in the pixels + kFirst
constexpr std::uint64_t kFirst = kEntryAlignment;

struct Entry {
  std::atomic<std::uint64_t> location;
  std::int64_t label;
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t crc;
  std::uint32_t unused;
};
static_assert(sizeof(Entry) == 32);

// Thrown if the disk has no room for the entries of a new store.
struct NoRoom {
  std::string reason;
};

// Whether the error is a lack of space.
bool lacks_room(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

std::string stopped_text(const std::filesystem::path& path, const std::string& why) {
  return "the cache " + (path.empty() ? "in memory" : path.string()) + " takes no more: " + why;
}

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t step) { return (bytes + step - 1) / step * step; }

class MappedStore final : public PixelStore {
 public:
  MappedStore(std::filesystem::path path, const std::string& key, std::uint64_t samples, std::uint64_t limit,
              std::shared_ptr<ByteBudget> room)
      : path_(std::move(path)), samples_(samples), limit_(limit), room_(std::move(room)), checked_(samples) {
    table_bytes_ = kPage + rounded(samples * sizeof(Entry), kPage);
    open_file();
    const bool alone = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
    if (!alone && ::flock(file_.get(), LOCK_SH) != 0) throw io_error("lock", path_.string(), errno);
    const bool usable = has_key(key);
    if (!usable && !alone) {
      throw Error(ErrorKind::kIo, "cache " + path_.string() +
                                      ": another process uses it for other data or operations. Use another file");
    }
    if (!usable) recreate(key);
    map();
    if (alone) {
      drop_unfinished();
      if (::flock(file_.get(), LOCK_SH) != 0) throw io_error("lock", path_.string(), errno);
    }
  }

  ~MappedStore() override {
    if (memory_ != nullptr) ::munmap(memory_, table_bytes_ + limit_);
  }

  MappedStore(const MappedStore&) = delete;
  MappedStore& operator=(const MappedStore&) = delete;

  [[nodiscard]] std::optional<Stored> find(std::uint64_t id) const override {
    Entry& entry = entries()[id];
    const std::uint64_t location = entry.location.load(std::memory_order_acquire);
    if (location < kFirst || !is_sound(id, entry, location - kFirst)) {
      misses_.fetch_add(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    hits_.fetch_add(1, std::memory_order_relaxed);
    const auto width = static_cast<int>(entry.width);
    const PixelView view{pixels() + (location - kFirst),    width,     static_cast<int>(entry.height),
                         std::ptrdiff_t{width} * kChannels, kChannels, 1};
    return Stored{view, entry.label};
  }

  void put(std::uint64_t id, std::int64_t label, const PixelView& from) const override {
    if (full_.load(std::memory_order_relaxed)) return;
    Entry& entry = entries()[id];
    std::uint64_t expected = kAbsent;
    if (!entry.location.compare_exchange_strong(expected, kBeingWritten, std::memory_order_acquire)) return;
    const std::size_t row_bytes = static_cast<std::size_t>(from.width) * kChannels;
    const std::uint64_t bytes = row_bytes * static_cast<std::size_t>(from.height);
    if (room_ && !room_->take(rounded(bytes, kEntryAlignment))) {
      entry.location.store(kAbsent, std::memory_order_release);
      // Other users may return memory to the shared budget.
      if (header().used.load(std::memory_order_relaxed) + rounded(bytes, kEntryAlignment) > room_->size())
        stop("its limit of " + std::to_string(room_->size()) + " bytes is reached", false);
      return;
    }
    const std::uint64_t offset = header().used.fetch_add(rounded(bytes, kEntryAlignment), std::memory_order_relaxed);
    if (offset + rounded(bytes, kEntryAlignment) > limit_) {
      header().used.fetch_sub(rounded(bytes, kEntryAlignment), std::memory_order_relaxed);
      if (room_) room_->give_back(rounded(bytes, kEntryAlignment));
      entry.location.store(kAbsent, std::memory_order_release);
      stop("its limit of " + std::to_string(limit_) + " bytes is reached", false);
      return;
    }
    std::uint32_t crc = 0;
    for (int y = 0; y < from.height; ++y) {
      const std::span<const std::uint8_t> row(from.data + y * from.row_stride, row_bytes);
      crc = crc32(row, crc);
      // Not through the map, where a full disk raises a signal.
      if (!write(offset + static_cast<std::uint64_t>(y) * row_bytes, row)) {
        entry.location.store(kAbsent, std::memory_order_release);
        return;
      }
    }
    entry.label = label;
    entry.width = static_cast<std::uint32_t>(from.width);
    entry.height = static_cast<std::uint32_t>(from.height);
    entry.crc = crc;
    checked_[id].store(1, std::memory_order_relaxed);
    records_.fetch_add(1, std::memory_order_relaxed);
    entry.location.store(offset + kFirst, std::memory_order_release);
  }

  [[nodiscard]] CacheCounts counts() const override {
    return {hits_.load(), misses_.load(), records_.load(), header().used.load(), limit_};
  }

  [[nodiscard]] std::string note() const override {
    std::lock_guard lock(mutex_);
    return note_;
  }

 private:
  [[nodiscard]] Header& header() const { return *reinterpret_cast<Header*>(memory_); }
  [[nodiscard]] Entry* entries() const { return reinterpret_cast<Entry*>(memory_ + kPage); }
  [[nodiscard]] const std::uint8_t* pixels() const { return memory_ + table_bytes_; }

  void open_file() {
    if (path_.empty()) {
      file_ = FileDescriptor(::memfd_create("unstarve-pixels", MFD_CLOEXEC));
    } else {
      std::error_code ignored;  // open() below reports the error
      if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
      file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    }
    if (!file_.valid()) throw io_error("open", path_.empty() ? "memory for pixels" : path_.string(), errno);
  }

  // Whether the file is a store of this key and shape.
  [[nodiscard]] bool has_key(const std::string& key) const {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) throw io_error("stat", path_.string(), errno);
    if (static_cast<std::uint64_t>(status.st_size) != table_bytes_ + limit_) return false;
    alignas(Header) std::uint8_t bytes[sizeof(Header)];
    if (::pread(file_.get(), bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) return false;
    Header head{};
    std::memcpy(static_cast<void*>(&head), bytes, offsetof(Header, used));
    return head.magic == kMagic && head.samples == samples_ && head.limit == limit_ && head.key_bytes == key.size() &&
           head.key_crc == crc_of(key);
  }

  [[nodiscard]] static std::uint32_t crc_of(const std::string& key) { return crc32(as_bytes(key)); }

  void recreate(const std::string& key) {
    // Truncated first, so that no old entry is left; the pixels stay a hole until they are written.
    if (::ftruncate(file_.get(), 0) != 0) throw io_error("empty", path_.string(), errno);
    if (const int error = ::posix_fallocate(file_.get(), 0, static_cast<off_t>(table_bytes_)); error != 0) {
      const Error failed = io_error("make room in", path_.string(), error);
      if (!lacks_room(error) || ::ftruncate(file_.get(), 0) != 0) throw failed;
      throw NoRoom{"its entries need " + std::to_string(table_bytes_) +
                   " bytes: " + std::generic_category().message(error)};
    }
    // A hole needs no space: only the limit can fail here.
    if (::ftruncate(file_.get(), static_cast<off_t>(table_bytes_ + limit_)) != 0) {
      const int error = errno;
      (void)!::ftruncate(file_.get(), 0);
      throw Error(ErrorKind::kIo, "cache " + path_.string() + ": no file of its limit of " + std::to_string(limit_) +
                                      " bytes can be made (" + std::generic_category().message(error) +
                                      "); give a smaller limit");
    }
    Header head{};
    head.magic = kMagic;
    head.samples = samples_;
    head.limit = limit_;
    head.key_bytes = key.size();
    head.key_crc = crc_of(key);
    if (::pwrite(file_.get(), static_cast<const void*>(&head), sizeof(head), 0) != static_cast<ssize_t>(sizeof(head))) {
      throw io_error("write", path_.string(), errno);
    }
  }

  void map() {
    void* const memory = ::mmap(nullptr, table_bytes_ + limit_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (memory == MAP_FAILED) throw io_error("map", path_.string(), errno);
    memory_ = static_cast<std::uint8_t*>(memory);
  }

  void drop_unfinished() {
    for (std::uint64_t id = 0; id < samples_; ++id) {
      std::uint64_t location = entries()[id].location.load(std::memory_order_relaxed);
      if (location == kBeingWritten) entries()[id].location.store(kAbsent, std::memory_order_relaxed);
      if (location >= kFirst) records_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // Sizes are from a file and may be damaged; pixels are checked once.
  [[nodiscard]] bool is_sound(std::uint64_t id, Entry& entry, std::uint64_t offset) const {
    if (checked_[id].load(std::memory_order_relaxed) != 0) return true;
    const std::uint64_t bytes = std::uint64_t{entry.width} * entry.height * kChannels;
    const bool sound = entry.width > 0 && entry.width <= 65'535 && entry.height > 0 && entry.height <= 65'535 &&
                       offset % kEntryAlignment == 0 && offset <= limit_ && bytes <= limit_ - offset &&
                       crc32({pixels() + offset, bytes}) == entry.crc;
    if (sound) {
      checked_[id].store(1, std::memory_order_relaxed);
    } else {
      entry.location.store(kAbsent, std::memory_order_release);
    }
    return sound;
  }

  bool write(std::uint64_t offset, std::span<const std::uint8_t> bytes) const {
    const int reason = write_at(file_.get(), table_bytes_ + offset, bytes).error;
    if (reason == 0) return true;
    const std::uint64_t used = header().used.load(std::memory_order_relaxed);
    stop("writing to it failed after " + std::to_string(used) +
             " bytes of pixels: " + std::generic_category().message(reason),
         true);
    return false;
  }

  // `unexpected`: not a consequence of the configured limit.
  void stop(const std::string& why, bool unexpected) const {
    full_.store(true, std::memory_order_relaxed);
    const std::string note = stopped_text(path_, why);
    {
      std::lock_guard lock(mutex_);
      if (!note_.empty()) return;
      note_ = note;
    }
    if (unexpected) emit_notice(note);  // without the lock: the sink may call note()
  }

  const std::filesystem::path path_;
  const std::uint64_t samples_;
  const std::uint64_t limit_;
  const std::shared_ptr<ByteBudget> room_;  // may be null
  std::uint64_t table_bytes_ = 0;
  FileDescriptor file_;
  std::uint8_t* memory_ = nullptr;
  mutable std::vector<std::atomic<std::uint8_t>> checked_;
  mutable std::atomic<bool> full_{false};
  mutable std::atomic<std::uint64_t> hits_{0};
  mutable std::atomic<std::uint64_t> misses_{0};
  mutable std::atomic<std::uint64_t> records_{0};
  mutable std::mutex mutex_;
  mutable std::string note_;
};

// For a disk without room for the entries.
class NoStore final : public PixelStore {
 public:
  NoStore(std::uint64_t limit, std::string note) : limit_(limit), note_(std::move(note)) { emit_notice(note_); }

  [[nodiscard]] std::optional<Stored> find(std::uint64_t) const override {
    misses_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  void put(std::uint64_t, std::int64_t, const PixelView&) const override {}
  [[nodiscard]] CacheCounts counts() const override { return {0, misses_.load(), 0, 0, limit_}; }
  [[nodiscard]] std::string note() const override { return note_; }

 private:
  const std::uint64_t limit_;
  const std::string note_;
  mutable std::atomic<std::uint64_t> misses_{0};
};

}  // namespace

std::shared_ptr<const PixelStore> open_pixel_store(const std::filesystem::path& file, const std::string& key,
                                                   std::uint64_t samples, std::uint64_t limit_bytes,
                                                   std::shared_ptr<ByteBudget> room) {
  if (limit_bytes == 0) throw Error(ErrorKind::kArgument, "cache: a limit of 0 bytes keeps nothing; give one above 0");
  const std::uint64_t limit = rounded(limit_bytes, kPage);
  try {
    return std::make_shared<MappedStore>(file, key, samples, limit, std::move(room));
  } catch (const NoRoom& found) {
    return std::make_shared<NoStore>(limit, stopped_text(file, found.reason));
  }
}

}  // namespace unstarve
