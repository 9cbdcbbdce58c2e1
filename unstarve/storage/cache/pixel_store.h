#pragma once
// Decoded pixels by sample id, in memory or in a file, so that a pipeline decodes each sample once.
//
// A store belongs to one key, a text that names everything the pixels depend on (dataset, operations so far). The first
// samples are stored until the budget is full; none is evicted (see encoded_cache.h).
//
// Processes of one host share a file (pixel_file.h). Pixels have a CRC-32, checked at the first read of a process.
//
// Ownership: PixelViews borrow from the store. Threads: any number; a PixelStore is shared as const.
// Failure:   open_pixel_store() throws Error(kIo) for a file that cannot be opened, written, locked or as large as the
//            limit. If disk or budget are full, the store stops growing: see note(), for a full disk also a notice.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "unstarve/core/image.h"
#include "unstarve/storage/cache/encoded_cache.h"

namespace unstarve {

class PixelStore {
 public:
  struct Stored {
    PixelView pixels;
    std::int64_t label = 0;
  };

  virtual ~PixelStore() = default;

  // Nothing if the sample is not stored.
  [[nodiscard]] virtual std::optional<Stored> find(std::uint64_t id) const = 0;
  // Stores a copy of interleaved pixels if there is room and no other thread is storing this sample.
  virtual void put(std::uint64_t id, std::int64_t label, const PixelView& pixels) const = 0;
  [[nodiscard]] virtual CacheCounts counts() const = 0;
  // The reason why the store stopped growing; empty if it still grows.
  [[nodiscard]] virtual std::string note() const = 0;
};

// In `file`, or only in memory if it is empty. `limit_bytes`: of pixels, plus 32 bytes of bookkeeping per sample.
// `room`: an additional, shared budget; a sample that does not fit now may be stored later.
[[nodiscard]] std::shared_ptr<const PixelStore> open_pixel_store(const std::filesystem::path& file,
                                                                 const std::string& key, std::uint64_t samples,
                                                                 std::uint64_t limit_bytes,
                                                                 std::shared_ptr<ByteBudget> room = nullptr);

}  // namespace unstarve
