#pragma once
// The listing of an image folder: scanned from the folders, or loaded from the cache of an earlier run.
//
// The cache has the layout of index_sidecar.h with the part "listing" of listing_view.h, and is stored where shard
// indexes are (index_paths.h). It is used if no folder has changed (folder_stamp.h). A background task writes it, after
// the first batch, except for fewer than kCachedFiles images (scanning is as fast), more than kMaxCachedLinks links to
// files (each needs a stat), folders changed within the last seconds, and file systems without reliable times.
//
// Ownership: owns the listing or its map. The destructor waits until the cache is written, except in a forked child.
// Threads:   read-only after construction.
// Failure:   Error(kIo) for a folder that cannot be read. Failure to write the cache is a note, not an error. Images
//            that are left out, of other formats or outside of the class folders, and folders without images are a
//            notice of each scan.
// Cost:      scanned: about 0.3 us per file, classes concurrently. Cached: one stat per folder and a checksum.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "unstarve/core/background_task.h"
#include "unstarve/storage/formats/folder/listing_view.h"
#include "unstarve/storage/index/index_sidecar.h"

namespace unstarve {

inline constexpr std::uint64_t kCachedFiles = 5000;
inline constexpr std::uint64_t kMaxCachedLinks = 1000;

struct ListingOptions {
  std::uint64_t cache_from = kCachedFiles;    // number of images
  std::uint64_t max_links = kMaxCachedLinks;  // links to anything but folders
  std::int64_t now_ns = 0;                    // since 1970, for tests; 0: read the clock
};

// Emits a notice: the subfolders `folders` of `path`, not empty, are classes without images.
void report_no_images(const std::string& path, std::span<const std::string> folders);

class ImageListing {
 public:
  // Lists the open folder `root`, whose path is `path`.
  ImageListing(int root, const std::string& path, const ListingOptions& options = {});

  ImageListing(const ImageListing&) = delete;
  ImageListing& operator=(const ImageListing&) = delete;

  [[nodiscard]] const ListingView& view() const noexcept { return *view_; }
  // Whether the listing was loaded from the cache.
  [[nodiscard]] bool cached() const noexcept { return cached_; }
  // Why the cache could not be written, also emitted as a notice (notice.h); empty on success or if no cache is needed.
  // Waits for the background task; always empty in a child forked before the task finished.
  [[nodiscard]] std::string note() const;

 private:
  bool load(const std::string& file, int root);
  void scan(int root, const std::string& path, const ListingOptions& options);
  void store(int root, const std::string& path, std::int64_t began_ns);

  std::string listing_;
  std::shared_ptr<const IndexView> mapped_;
  std::unique_ptr<const ListingView> view_;
  bool cached_ = false;
  std::string note_;
  std::unique_ptr<BackgroundTask> writing_;  // last: it uses the members above
};

}  // namespace unstarve
