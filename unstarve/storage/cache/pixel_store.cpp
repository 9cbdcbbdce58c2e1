#include "unstarve/storage/cache/pixel_store.h"

#include <atomic>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/cache/pixel_file.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

std::string cache_name(const std::filesystem::path& path) {
  return "cache " + (path.empty() ? "in memory" : path.string());
}

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t step) { return (bytes + step - 1) / step * step; }

class MappedStore final : public PixelStore {
 public:
  MappedStore(const std::filesystem::path& path, const std::string& key, std::uint64_t samples, std::uint64_t limit,
              std::shared_ptr<ByteBudget> room)
      : file_(path, key, samples, limit),
        room_(std::move(room)),
        checked_(samples),
        records_(file_.complete_at_open()) {}

  [[nodiscard]] std::optional<Stored> find(std::uint64_t id) const override {
    PixelEntry& entry = file_.entry(id);
    const std::uint64_t location = entry.location.load(std::memory_order_acquire);
    if (location < PixelEntry::kFirst || !is_sound(id, entry, location - PixelEntry::kFirst)) return std::nullopt;
    const auto width = static_cast<int>(entry.width);
    const PixelView view{file_.pixels() + (location - PixelEntry::kFirst),
                         width,
                         static_cast<int>(entry.height),
                         std::ptrdiff_t{width} * kChannels,
                         kChannels,
                         1};
    return Stored{view, entry.label};
  }

  void put(std::uint64_t id, std::int64_t label, const PixelView& from) const override {
    if (full_.load(std::memory_order_relaxed)) return;
    PixelEntry& entry = file_.entry(id);
    std::uint64_t expected = PixelEntry::kAbsent;
    if (!entry.location.compare_exchange_strong(expected, PixelEntry::kBeingWritten, std::memory_order_acquire)) return;
    const std::size_t row_bytes = static_cast<std::size_t>(from.width) * kChannels;
    const std::uint64_t bytes = rounded(row_bytes * static_cast<std::size_t>(from.height), PixelFile::kAlignment);
    if (room_ && !room_->take(bytes)) {
      entry.location.store(PixelEntry::kAbsent, std::memory_order_release);
      // Other users may return memory to the shared budget.
      if (file_.used() + bytes > room_->size())
        stop(fmt::format(" is full: its limit is {} bytes", room_->size()), false);
      return;
    }
    const std::optional<std::uint64_t> offset = file_.hand_out(bytes);
    if (!offset) {
      if (room_) room_->give_back(bytes);
      entry.location.store(PixelEntry::kAbsent, std::memory_order_release);
      stop(fmt::format(" is full: its limit is {} bytes", file_.limit()), false);
      return;
    }
    std::uint32_t crc = 0;
    for (int y = 0; y < from.height; ++y) {
      const std::span<const std::uint8_t> row(from.data + y * from.row_stride, row_bytes);
      crc = crc32(row, crc);
      if (!write(*offset + static_cast<std::uint64_t>(y) * row_bytes, row)) {
        entry.location.store(PixelEntry::kAbsent, std::memory_order_release);
        return;
      }
    }
    entry.label = label;
    entry.width = static_cast<std::uint32_t>(from.width);
    entry.height = static_cast<std::uint32_t>(from.height);
    entry.crc = crc;
    checked_[id].store(1, std::memory_order_relaxed);
    records_.fetch_add(1, std::memory_order_relaxed);
    entry.location.store(*offset + PixelEntry::kFirst, std::memory_order_release);
  }

  [[nodiscard]] CacheCounts counts() const override { return {records_.load(), file_.used(), file_.limit()}; }

  [[nodiscard]] std::string note() const override {
    std::lock_guard lock(mutex_);
    return note_;
  }

 private:
  // Sizes are from a file and may be damaged; pixels are checked once.
  [[nodiscard]] bool is_sound(std::uint64_t id, PixelEntry& entry, std::uint64_t offset) const {
    if (checked_[id].load(std::memory_order_relaxed) != 0) return true;
    const std::uint64_t bytes = std::uint64_t{entry.width} * entry.height * kChannels;
    const bool sound = entry.width > 0 && entry.width <= 65'535 && entry.height > 0 && entry.height <= 65'535 &&
                       offset % PixelFile::kAlignment == 0 && offset <= file_.limit() &&
                       bytes <= file_.limit() - offset && crc32({file_.pixels() + offset, bytes}) == entry.crc;
    if (sound) {
      checked_[id].store(1, std::memory_order_relaxed);
    } else {
      entry.location.store(PixelEntry::kAbsent, std::memory_order_release);
    }
    return sound;
  }

  bool write(std::uint64_t offset, std::span<const std::uint8_t> bytes) const {
    const int reason = file_.write(offset, bytes);
    if (reason == 0) return true;
    const std::uint64_t used = file_.used();
    stop(fmt::format(" stores no more images: writing failed after {} bytes of pixels: {}", used,
                     std::generic_category().message(reason)),
         true);
    return false;
  }

  // `state` follows the name of the cache. `unexpected`: not a consequence of the configured limit.
  void stop(const std::string& state, bool unexpected) const {
    full_.store(true, std::memory_order_relaxed);
    const std::string note = cache_name(file_.path()) + state;
    {
      std::lock_guard lock(mutex_);
      if (!note_.empty()) return;
      note_ = note;
    }
    if (unexpected) emit_notice(note);  // without the lock: the sink may call note()
  }

  const PixelFile file_;
  const std::shared_ptr<ByteBudget> room_;  // may be null
  mutable std::vector<std::atomic<std::uint8_t>> checked_;
  mutable std::atomic<bool> full_{false};
  mutable std::atomic<std::uint64_t> records_{0};
  mutable std::mutex mutex_;
  mutable std::string note_;
};

// For a disk without room for the entries.
class NoStore final : public PixelStore {
 public:
  NoStore(std::uint64_t limit, std::string note) : limit_(limit), note_(std::move(note)) { emit_notice(note_); }

  [[nodiscard]] std::optional<Stored> find(std::uint64_t) const override { return std::nullopt; }
  void put(std::uint64_t, std::int64_t, const PixelView&) const override {}
  [[nodiscard]] CacheCounts counts() const override { return {0, 0, limit_}; }
  [[nodiscard]] std::string note() const override { return note_; }

 private:
  const std::uint64_t limit_;
  const std::string note_;
};

}  // namespace

std::shared_ptr<const PixelStore> open_pixel_store(const std::filesystem::path& file, const std::string& key,
                                                   std::uint64_t samples, std::uint64_t limit_bytes,
                                                   std::shared_ptr<ByteBudget> room) {
  if (limit_bytes == 0) throw argument_error("cache: found a limit of 0 bytes; expected more than 0");
  const std::uint64_t limit = rounded(limit_bytes, PixelFile::kPage);
  try {
    return std::make_shared<MappedStore>(file, key, samples, limit, std::move(room));
  } catch (const PixelFile::NoRoom& found) {
    return std::make_shared<NoStore>(limit, cache_name(file) + " stores no images: " + found.reason);
  }
}

}  // namespace unstarve
