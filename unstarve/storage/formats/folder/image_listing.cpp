#include "unstarve/storage/formats/folder/image_listing.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/machine/topology.h"
#include "unstarve/core/thread_pool.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/formats/folder/class_files.h"
#include "unstarve/storage/index/index_paths.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Listing is limited by the directory code of the kernel: more threads do not help.
constexpr int kListingThreads = 8;
// The first batch takes about 15 ms (files in the page cache, two cores); writing the cache must not delay it.
constexpr std::chrono::milliseconds kWriteDelay(100);
constexpr const char* kMadeBy = "image folder 3";
constexpr const char* kPart = "listing";

struct RootListing {
  std::vector<std::string> classes;
  SeenFolder folder;
  std::vector<SeenLink> links;
  std::uint64_t images = 0;  // next to the class folders
  std::string first_image;
};

RootListing list_root(int root, const std::string& path) {
  RootListing listing;
  FileDescriptor folder = open_folder(root, ".", path);
  listing.folder.stamp = stamp_of(folder, path);
  scan_folder(std::move(folder), path, [&](const FolderEntry& entry) {
    if (entry.kind == EntryKind::kFolder) {
      listing.classes.emplace_back(entry.name);
    } else if (entry.link) {
      listing.links.push_back({std::string(entry.name), entry.kind});
    }
    if (entry.kind == EntryKind::kFile && has_image_extension(entry.name) && listing.images++ == 0)
      listing.first_image = entry.name;
  });
  std::sort(listing.classes.begin(), listing.classes.end());
  return listing;
}

std::vector<ClassFiles> list_classes(int root, const std::string& path, const std::vector<std::string>& classes) {
  std::vector<ClassFiles> lists(classes.size());
  ThreadPool pool(std::max(std::min(threads_up_to(kListingThreads), static_cast<int>(classes.size())), 1));
  for (std::size_t i = 0; i < classes.size(); ++i)
    pool.submit([&, i] { lists[i] = list_class(root, path, classes[i]); });
  pool.wait();
  return lists;
}

void report_left_out(const std::string& path, const RootListing& top, const std::vector<ClassFiles>& lists) {
  if (top.images > 0)
    emit_notice("open image folder " + path + ": found images outside of the class folders, which are left out (" +
                std::to_string(top.images) + ", for example " + top.first_image +
                "); expected one folder per class. Open a folder without subfolders, or a pattern such as " + path +
                "/*.jpg, for images without labels.");
  std::vector<std::string> no_images;
  for (std::size_t i = 0; i < lists.size(); ++i)
    if (lists[i].names.empty() && lists[i].unread == 0) no_images.push_back(top.classes[i]);
  if (!no_images.empty()) report_no_images(path, no_images);
  std::uint64_t unread = 0;
  for (const ClassFiles& list : lists) unread += list.unread;
  if (unread == 0) return;
  const auto first = std::ranges::find_if(lists, [](const ClassFiles& list) { return list.unread > 0; });
  emit_notice("open image folder " + path + ": found images of unsupported formats, which are left out (" +
              std::to_string(unread) + ", for example " + first->first_unread +
              "); expected *.jpg, *.jpeg, *.png or *.webp. Convert them.");
}

// Possible cache files for the listing of the folder at `path`, derived from its canonical path (`name`).
std::vector<fs::path> cache_paths(const std::string& path, std::string& name) {
  std::error_code failed;
  const fs::path own = fs::canonical(path, failed);
  name = failed ? path : own.string();
  return failed ? std::vector<fs::path>() : index_paths(name);
}

}  // namespace

void report_no_images(const std::string& path, std::span<const std::string> folders) {
  emit_notice("open image folder " + path + ": found folders without images, which have class numbers (" +
              std::to_string(folders.size()) + ", for example " + folders.front() +
              "); expected images in every class folder. Remove those that are no classes.");
}

ImageListing::ImageListing(int root, const std::string& path, const ListingOptions& options) {
  std::string name;
  const std::vector<fs::path> paths = cache_paths(path, name);
  cached_ = std::any_of(paths.begin(), paths.end(), [&](const fs::path& file) { return load(file, root); });
  if (!cached_) scan(root, path, options);
}

// Returns false if the cached listing cannot be used, for whatever reason; the folder is then listed again.
bool ImageListing::load(const std::string& file, int root) {
  try {
    std::shared_ptr<const IndexView> sidecar = open_index(file);
    const auto part = sidecar->part_with_own_checksum(kPart);
    if (!part || !is_made_by(*sidecar, kMadeBy)) return false;
    auto view = std::make_unique<const ListingView>(*part);
    if (!unchanged(root, view->folders(), view->links())) return false;
    mark_index_used(file);
    mapped_ = std::move(sidecar);
    view_ = std::move(view);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput && error.kind() != ErrorKind::kIo) throw;
    return false;
  }
}

void ImageListing::scan(int root, const std::string& path, const ListingOptions& options) {
  const std::int64_t began_ns = options.now_ns != 0 ? options.now_ns : wall_clock_ns();
  const RootListing top = list_root(root, path);
  const std::vector<ClassFiles> lists = list_classes(root, path, top.classes);
  listing_ = listing_bytes(top.classes, lists, {&top.folder, 1}, top.links);
  view_ = std::make_unique<const ListingView>(as_bytes(listing_));
  if (view_->files() > 0) report_left_out(path, top, lists);

  if (view_->files() < options.cache_from || view_->links().size() > options.max_links) return;
  writing_ = std::make_unique<BackgroundTask>([=, this] { store(root, path, began_ns); }, kWriteDelay);
}

void ImageListing::store(int root, const std::string& path, std::int64_t began_ns) {
  if (!can_be_cached(root, view_->folders(), began_ns)) return;
  std::string name;
  const std::vector<fs::path> paths = cache_paths(path, name);
  const std::vector<IndexPart> parts{{"made-by", kMadeBy}, {kPart, listing_}};
  const SavedIndex saved = save_index(name, paths, index_bytes({}, {}, {}, parts), Durability::kRenamed);
  if (!saved.path.empty()) return;
  note_ = not_saved(path, saved.failure);
  emit_notice(note_);
}

std::string ImageListing::note() const { return !writing_ || writing_->wait() ? note_ : ""; }

}  // namespace unstarve
