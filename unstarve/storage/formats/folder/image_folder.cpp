#include "unstarve/storage/formats/folder/image_folder.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/formats/folder/bucket_folder.h"
#include "unstarve/storage/formats/folder/image_file.h"
#include "unstarve/storage/source/folder_scan.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {
namespace {

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

// `listing_` has the names of all files, which are not opened. Sample ids number them by class name, folder path and
// file name, all bytewise: class_begin_[c] is the first id of class c, whose number is the label.
ImageFolder::ImageFolder(std::string root, const ListingOptions& options)
    : root_(without_trailing_slashes(std::move(root))),
      folder_(open_folder(AT_FDCWD, root_, root_)),
      listing_(folder_.get(), root_, options),
      names_(listing_.view()),
      fields_{{"image", FieldKind::kEncodedImage}, {"label", FieldKind::kLabel}} {
  if (names_.files() == 0) {
    const FolderListing top = list_folder(root_);
    const FolderListing inside = top.folders.empty() ? FolderListing() : list_folder(root_ + "/" + top.folders[0]);
    const std::string first = top.folders.empty() ? "" : fmt::format("; {} has {}", top.folders[0], describe(inside));
    const std::string open =
        inside.files.empty() ? "" : fmt::format(". If these are data, open {}/{}.", root_, top.folders[0]);
    throw input_error(
        "open image folder {}: no image in the class folders; found {}{}; expected files *.jpg, *.jpeg, *.png or "
        "*.webp in one folder per class{}",
        root_, describe(top), first, open);
  }
  for (std::uint64_t number = 0; number < names_.classes(); ++number) {
    classes_.emplace_back(names_.class_name(number));
    class_begin_.push_back(names_.first_file(number));
  }
  class_begin_.push_back(names_.files());
}

RecordLocation ImageFolder::record_location(std::uint64_t id) const {
  return {.file = root_ + "/" + classes_[class_of(id)] + "/" + names_.file(id)};
}

std::vector<std::string> ImageFolder::notes() const {
  const std::string note = listing_.note();
  return note.empty() ? std::vector<std::string>() : std::vector<std::string>{note};
}

// Writes the path below root_ to `buffer`, which is on the stack of the caller: the path needs no allocation.
ImagePath ImageFolder::path_of(std::uint64_t id, std::span<char> buffer) const {
  const std::string& folder = classes_[class_of(id)];
  const char* name = names_.file(id);
  const std::size_t name_bytes = std::strlen(name) + 1;
  if (folder.size() + 1 + name_bytes > buffer.size()) throw io_error("open", location(id), ENAMETOOLONG);
  std::memcpy(buffer.data(), folder.data(), folder.size());
  buffer[folder.size()] = '/';
  std::memcpy(buffer.data() + folder.size() + 1, name, name_bytes);
  return {folder_.get(), buffer.data(), this, id};
}

void ImageFolder::fill(std::uint64_t id, std::span<const std::uint8_t> bytes, RecordBuffer& record) const {
  record.values.resize(2);
  record.values[0] = {bytes, {}, 0};
  record.values[1] = {{}, {}, static_cast<std::int64_t>(class_of(id))};
}

// Opens the file and reads it whole. Called by a worker for each sample (SampleProgram, ReadStep) while most files are
// in the page cache; otherwise, threads of the read-ahead call read_many(), and this to find which file is bad.
void ImageFolder::read(std::uint64_t id, RecordBuffer& record) const {
  std::array<char, PATH_MAX> buffer;
  fill(id, read_image_file(path_of(id, buffer), record.storage), record);
}

void ImageFolder::read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const {
  std::array<char, PATH_MAX> buffer;
  std::vector<ImageFile> files;
  files.reserve(ids.size());
  for (const std::uint64_t id : ids) files.push_back(open_image_file(path_of(id, buffer)));
  read_image_files(files, *this, ids, records);
  for (std::size_t i = 0; i < ids.size(); ++i) fill(ids[i], {records[i].storage.data(), files[i].bytes}, records[i]);
}

int ImageFolder::reads_in_flight() const {
  std::array<char, PATH_MAX> buffer;
  return useful_reads(size(), [&](std::uint64_t id) {
    const ImageFile image = open_image_file(path_of(id, buffer));
    return in_page_cache(image.file.get(), image.bytes / 2);
  });
}

// For the table of formats in storage/open.cpp. The folders of a DatasetDict of Hugging Face (parquet/saved_dataset.h)
// are splits of another format.
bool recognises_image_folder(const Source& source) {
  const std::vector<std::string>& files = source.listing.files;
  return source.folder && !source.listing.folders.empty() &&
         std::find(files.begin(), files.end(), "dataset_dict.json") == files.end();
}

std::shared_ptr<const Dataset> open_image_folder(const Source& source, const std::string&) {
  if (is_url(source.path)) return open_bucket_folder(source.path, source.listing.folders);
  return std::make_shared<ImageFolder>(source.path);
}

}  // namespace unstarve
