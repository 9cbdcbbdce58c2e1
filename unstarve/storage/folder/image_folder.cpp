#include "unstarve/storage/folder/image_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/thread_pool.h"
#include "unstarve/core/topology.h"
#include "unstarve/storage/folder/class_files.h"
#include "unstarve/storage/folder/folder_scan.h"
#include "unstarve/storage/folder/image_file.h"
#include "unstarve/storage/io/residency.h"

namespace unstarve {
namespace {

// Listing is bound by the kernel's directory code: more threads than this gain nothing.
constexpr int kListingThreads = 8;

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

ImageFolder::ImageFolder(std::string root)
    : root_(without_trailing_slashes(std::move(root))),
      folder_(open_folder(AT_FDCWD, root_, root_)),
      fields_{{"image", FieldKind::kEncodedImage}, {"label", FieldKind::kLabel}} {
  const FolderListing listing = list_folder(root_);
  classes_ = listing.folders;
  list_classes();
  if (names_.empty()) {
    throw Error(ErrorKind::kInput, "open image folder " + root_ + ": no image in its class folders; found " +
                                       describe(listing) +
                                       ", expected files *.jpg, *.jpeg or *.png in one folder per class");
  }
}

// All classes by several threads, then into one pool.
void ImageFolder::list_classes() {
  std::vector<ClassFiles> lists(classes_.size());
  {
    const int threads = std::min({kListingThreads, read_topology().usable(), static_cast<int>(classes_.size())});
    ThreadPool pool(std::max(threads, 1));
    for (std::size_t i = 0; i < classes_.size(); ++i)
      pool.submit([this, &lists, i] { lists[i] = list_class(folder_.get(), root_, classes_[i]); });
    pool.wait();
  }
  std::size_t bytes = 0, files = 0;
  for (const ClassFiles& list : lists) {
    bytes += list.pool.size();
    files += list.names.size();
  }
  pool_.reserve(bytes);
  names_.reserve(files);
  for (ClassFiles& list : lists) {
    class_begin_.push_back(names_.size());
    for (const std::uint64_t name : list.names) names_.push_back(pool_.size() + name);
    pool_.insert(pool_.end(), list.pool.begin(), list.pool.end());
    list = {};
  }
  class_begin_.push_back(names_.size());
}

std::size_t ImageFolder::class_of(std::uint64_t id) const {
  const auto after = std::upper_bound(class_begin_.begin(), class_begin_.end(), id);
  return static_cast<std::size_t>(after - class_begin_.begin()) - 1;
}

std::string ImageFolder::location(std::uint64_t id) const {
  return root_ + "/" + classes_[class_of(id)] + "/" + (pool_.data() + names_[id]);
}

// The path below root_, in `room`, which lies on the caller's stack: reading allocates nothing.
ImagePath ImageFolder::path_of(std::uint64_t id, std::span<char> room) const {
  const std::string& folder = classes_[class_of(id)];
  const char* name = pool_.data() + names_[id];
  const std::size_t name_bytes = std::strlen(name) + 1;
  if (folder.size() + 1 + name_bytes > room.size()) throw io_error("open", location(id), ENAMETOOLONG);
  std::memcpy(room.data(), folder.data(), folder.size());
  room[folder.size()] = '/';
  std::memcpy(room.data() + folder.size() + 1, name, name_bytes);
  return {folder_.get(), room.data(), this, id};
}

void ImageFolder::fill(std::uint64_t id, std::span<const std::uint8_t> bytes, RecordBuffer& record) const {
  record.values.resize(2);
  record.values[0] = {bytes, {}, 0};
  record.values[1] = {{}, {}, static_cast<std::int64_t>(class_of(id))};
}

void ImageFolder::read(std::uint64_t id, RecordBuffer& record) const {
  std::array<char, PATH_MAX> room;
  fill(id, read_image_file(path_of(id, room), record.storage), record);
}

void ImageFolder::read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const {
  std::array<char, PATH_MAX> room;
  std::vector<ImageFile> files;
  files.reserve(ids.size());
  for (const std::uint64_t id : ids) files.push_back(open_image_file(path_of(id, room)));
  read_image_files(files, *this, ids, records);
  for (std::size_t i = 0; i < ids.size(); ++i) fill(ids[i], {records[i].storage.data(), files[i].bytes}, records[i]);
}

int ImageFolder::reads_in_flight() const {
  std::array<char, PATH_MAX> room;
  return rewarding_reads(size(), [&](std::uint64_t id) {
    const ImageFile image = open_image_file(path_of(id, room));
    return in_page_cache(image.file.get(), image.bytes / 2);
  });
}

std::size_t ImageFolder::memory_bytes() const {
  std::size_t bytes = pool_.capacity() + names_.capacity() * sizeof(names_[0]) +
                      class_begin_.capacity() * sizeof(class_begin_[0]) + classes_.capacity() * sizeof(classes_[0]);
  for (const std::string& name : classes_) bytes += name.capacity();
  return bytes;
}

}  // namespace unstarve
