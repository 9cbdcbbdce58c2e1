#include "unstarve/storage/formats/folder/unlabelled_images.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/format_error.h"
#include "unstarve/storage/formats/folder/image_file.h"
#include "unstarve/storage/io/residency.h"
#include "unstarve/storage/source/folder_scan.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {

namespace {

class UnlabelledImages final : public Dataset {
 public:
  // `names` are relative to `root`, a folder or its URL; if `root` is empty, they are paths or URLs.
  UnlabelledImages(std::string root, std::vector<std::string> names)
      : root_(std::move(root)), names_(std::move(names)), remote_(is_url(path_of(0))) {
    const std::string folder = root_.empty() ? "." : root_;
    if (!remote_) folder_ = open_folder(AT_FDCWD, folder, folder);
  }

  [[nodiscard]] std::string format() const override { return "images"; }
  [[nodiscard]] std::uint64_t size() const override { return names_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return 0; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override {
    return {.file = shown_name(path_of(id))};
  }
  [[nodiscard]] int reads_in_flight() const override {
    if (remote_) return kServerReads;
    return useful_reads(size(), [&](std::uint64_t id) {
      const ImageFile image = open_image_file(local_path(id));
      return in_page_cache(image.file.get(), image.bytes / 2);
    });
  }
  [[nodiscard]] int most_reads_in_flight() const override { return remote_ ? kServerReads : kDiskReads; }

  void read(std::uint64_t id, RecordBuffer& record) const override {
    const std::span<const std::uint8_t> bytes = remote_ ? read_remote_image({path_of(id)}, *this, id, record.storage)
                                                        : read_image_file(local_path(id), record.storage);
    record.values.resize(1);
    record.values[0] = {bytes, {}, 0};
  }

 private:
  [[nodiscard]] std::string path_of(std::uint64_t id) const {
    return root_.empty() ? names_[id] : root_ + (root_.ends_with('/') ? "" : "/") + names_[id];
  }
  [[nodiscard]] ImagePath local_path(std::uint64_t id) const { return {folder_.get(), names_[id].c_str(), this, id}; }

  std::string root_;
  std::vector<std::string> names_;
  FileDescriptor folder_;  // root_, if it is local
  bool remote_;            // all files are
  std::vector<Field> fields_{{"image", FieldKind::kEncodedImage}};
  std::vector<std::string> classes_;  // none
};

}  // namespace

bool recognises_unlabelled_images(const Source& source) {
  if (!source.folder) return detect_encoding(source.head) != Encoding::kUnknown;
  return source.listing.folders.empty() && std::ranges::any_of(source.listing.files, has_image_extension);
}

std::shared_ptr<const Dataset> open_unlabelled_images(const Source& source, const std::string& split) {
  if (!split.empty()) {
    throw argument_error("open {}: no split '{}'; expected none for images without labels", shown_name(source.text),
                         split);
  }
  if (!source.folder) return std::make_shared<UnlabelledImages>("", source.files);
  std::vector<std::string> names = source.listing.files;
  std::erase_if(names, [](const std::string& name) { return !has_image_extension(name); });
  return std::make_shared<UnlabelledImages>(source.path, std::move(names));
}

}  // namespace unstarve
