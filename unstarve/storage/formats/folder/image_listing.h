#pragma once
// The listing of an image folder, made by a pass over its folders or taken from the run before.
//
// A folder of many files is listed once: its listing is kept beside the indexes of shards (index_places.h; beside the
// folder or in the cache folder, in the layout of index_sidecar.h with the part "listing" of listing_view.h). It is
// taken as long as every folder is as it was, and made again else; damage anywhere makes it be made again, too. What
// may be kept, and why that is safe, stands in folder_stamp.h. It is written behind the back of whoever opened the
// folder, when the first batch should be there.
//
// Listed anew every time: fewer than kKeptFiles images, where that is as quick; more than kKeptLinks links to files,
// since each would be looked at again; folders changed within the last seconds, or of file systems whose times tell
// nothing.
//
// Ownership: owns the listing or its map. The destructor waits until the listing is written; not in a fork.
// Threads:   read-only once made.
// Failure:   Error(kIo) for a folder that cannot be read. That a listing could not be kept is a note and no failure.
// Cost:      made: readdir() and sort, about 0.3 us a file, several classes at once; taken: a stat per folder and a
//            checksum over the names.

#include <cstdint>
#include <memory>
#include <string>

#include "unstarve/core/background_task.h"
#include "unstarve/storage/formats/folder/listing_view.h"
#include "unstarve/storage/index/index_sidecar.h"

namespace unstarve {

inline constexpr std::uint64_t kKeptFiles = 5000;
inline constexpr std::uint64_t kKeptLinks = 1000;

struct ListingOptions {
  std::uint64_t keep_from = kKeptFiles;   // images
  std::uint64_t most_links = kKeptLinks;  // to anything but folders
  std::int64_t now_ns = 0;                // since 1970, for tests; 0: the clock's
};

class ImageListing {
 public:
  // Of the open folder `root`; `path` is its path.
  ImageListing(int root, const std::string& path, const ListingOptions& options = {});

  ImageListing(const ImageListing&) = delete;
  ImageListing& operator=(const ImageListing&) = delete;

  [[nodiscard]] const ListingView& view() const noexcept { return *view_; }
  // Whether it was made by a run before.
  [[nodiscard]] bool taken() const noexcept { return taken_; }
  // Why it could not be kept, told as a notice, too (notice.h); empty when it was, or was not meant to be. Waits until
  // that is known; in a process that was forked before, it is not.
  [[nodiscard]] std::string note() const;
  // Bytes held, in memory or mapped.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  bool take(const std::string& place, int root);
  void make(int root, const std::string& path, const ListingOptions& options);
  void keep(int root, const std::string& path, std::int64_t began_ns);

  std::string made_;
  std::unique_ptr<const IndexSidecar> mapped_;
  std::unique_ptr<const ListingView> view_;
  std::size_t bytes_ = 0;
  bool taken_ = false;
  std::string note_;
  std::unique_ptr<BackgroundTask> keeping_;  // last: it uses what stands before
};

}  // namespace unstarve
