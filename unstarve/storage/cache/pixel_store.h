#pragma once
// Decoded pixels kept under their sample's id, in memory or in a file: what a pipeline need not decode again.
//
// A store belongs to one key, a text that names everything the pixels depend on (data set, operations so far). A file
// of another key, version or size is made anew. Records are kept first come, first kept, until the budget is full (see
// encoded_cache.h for why none is given up).
//
//   file:  header, one page | one entry of 32 bytes per sample | pixels, each record at a multiple of 64 bytes
//
// Processes of one host that open the same file share it: they read it through the page cache and add to it under
// atomic entries, so that a sample is decoded once per host. Whoever opens it alone drops what a killed process left
// unfinished. Pixels carry a CRC-32, checked the first time that a process reads them: what a crash of the machine
// left behind is dropped as well.
//
// Ownership: PixelViews borrow from the store. Threads: any number; a PixelStore is shared as const.
// Failure:   open_pixel_store() throws Error(kIo) for a file that cannot be opened, written or locked, or may not be as
//            large as the limit. A full disk or
//            budget never fails: it ends the keeping, or keeps nothing from the start, see note(). A full disk is told
//            as a notice, too (notice.h).
// Cost:      a hit is a look-up; the first of a process also a pass over the pixels.

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
  struct Kept {
    PixelView pixels;
    std::int64_t label = 0;
  };

  virtual ~PixelStore() = default;

  // Nothing when the sample is not there (yet).
  [[nodiscard]] virtual std::optional<Kept> find(std::uint64_t id) const = 0;
  // Keeps a copy of interleaved pixels if there is room and nobody else is keeping this sample.
  virtual void put(std::uint64_t id, std::int64_t label, const PixelView& pixels) const = 0;
  [[nodiscard]] virtual CacheCounts counts() const = 0;
  // Why nothing more is kept, or empty.
  [[nodiscard]] virtual std::string note() const = 0;
};

// In `file`, or in memory alone when it is empty. limit_bytes: of pixels; bookkeeping is 32 bytes per sample more.
// `room`: what they are taken of besides, where others take of it, too; what it has none for now may be kept later.
[[nodiscard]] std::shared_ptr<const PixelStore> open_pixel_store(const std::filesystem::path& file,
                                                                 const std::string& key, std::uint64_t samples,
                                                                 std::uint64_t limit_bytes,
                                                                 std::shared_ptr<ByteBudget> room = nullptr);

}  // namespace unstarve
