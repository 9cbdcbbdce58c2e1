#include "unstarve/storage/folder/image_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <set>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/storage/folder/image_file.h"
#include "unstarve/storage/io/residency.h"

namespace unstarve {
namespace {

// Folder first, then file name, both bytewise.
bool comes_before(const char* a, const char* b) noexcept {
  const auto split = [](const char* path) {
    const std::string_view whole(path);
    const std::size_t slash = whole.rfind('/');
    return slash == std::string_view::npos ? std::pair(std::string_view(), whole)
                                           : std::pair(whole.substr(0, slash), whole.substr(slash + 1));
  };
  return split(a) < split(b);
}

// Collects the images below one class folder into `pool` and `names`.
class ClassWalk {
 public:
  ClassWalk(int root, std::string root_path, const std::string& name, std::vector<char>& pool,
            std::vector<std::uint64_t>& names)
      : root_(root), root_path_(std::move(root_path)), class_(name), pool_(pool), names_(names) {}

  // `below` is "" or "sub/folder/".
  void enter(const std::string& below) {
    const std::string relative = class_ + "/" + below;
    const std::string shown = root_path_ + "/" + relative;
    FileDescriptor folder = open_folder(root_, relative, shown);
    if (!entered_.insert(identity_of(folder, shown)).second) return;
    std::vector<std::string> folders;
    scan_folder(std::move(folder), shown, [&](std::string_view name, EntryKind kind) {
      if (kind == EntryKind::kFolder) {
        folders.push_back(below + std::string(name) + "/");
      } else if (kind == EntryKind::kFile && has_image_extension(name)) {
        names_.push_back(pool_.size());
        pool_.insert(pool_.end(), below.begin(), below.end());
        pool_.insert(pool_.end(), name.begin(), name.end());
        pool_.push_back('\0');
      }
    });
    // Sorted, so that which of two links to one folder is entered does not depend on the file system.
    std::sort(folders.begin(), folders.end());
    for (const std::string& next : folders) enter(next);
  }

 private:
  int root_;
  std::string root_path_;
  std::string class_;
  std::vector<char>& pool_;
  std::vector<std::uint64_t>& names_;
  std::set<FolderIdentity> entered_;
};

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
  for (const std::string& name : listing.folders) add_class(name);
  class_begin_.push_back(names_.size());
  pool_.shrink_to_fit();
  names_.shrink_to_fit();
  if (names_.empty()) {
    throw Error(ErrorKind::kInput, "open image folder " + root_ + ": no image in its class folders; found " +
                                       describe(listing) +
                                       ", expected files *.jpg, *.jpeg or *.png in one folder per class");
  }
}

void ImageFolder::add_class(const std::string& name) {
  const std::size_t first = names_.size();
  classes_.push_back(name);
  class_begin_.push_back(first);
  ClassWalk(folder_.get(), root_, name, pool_, names_).enter("");
  std::sort(names_.begin() + static_cast<std::ptrdiff_t>(first), names_.end(),
            [&](std::uint64_t a, std::uint64_t b) { return comes_before(pool_.data() + a, pool_.data() + b); });
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
