#pragma once
// Image files in one folder per class.
//
//   photos/cat/1.jpg  photos/cat/outdoors/2.jpeg  photos/dog/7.PNG      classes: 0 cat, 1 dog
//
// Order:     classes by name; within a class by folder path, then by file name, all bytewise. Ids and labels are those
//            of torchvision's ImageFolder.
// Samples:   files ending in .jpg, .jpeg, .png or .webp in any case, at any depth below the class folder; hidden
//            entries and folders of systems (folder_scan.h) are skipped. Links are followed; a folder is entered once
//            per class. A class without images has a number, and is a notice.
// Ownership: keeps the root open and the names of all files in one pool: name + 9 bytes per file.
// Cost:      opening lists the class folders concurrently, or loads the cached listing (image_listing.h); it does not
//            stat the files. read() is openat, fstat, pread, close; read_many() opens all files, then reads them
//            together (io/batch_reader.h).
// Failure:   as dataset.h; an empty file or one larger than kMaxImageBytes is Error(kInput). Threads: as Dataset.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/formats/folder/image_file.h"
#include "unstarve/storage/formats/folder/image_listing.h"
#include "unstarve/storage/io/residency.h"

namespace unstarve {

struct Source;

class ImageFolder final : public Dataset {
 public:
  // Throws Error(kIo) if a folder cannot be read, Error(kInput) if there is no image.
  explicit ImageFolder(std::string root, const ListingOptions& options = {});

  [[nodiscard]] std::string format() const override { return "image folder"; }
  [[nodiscard]] std::uint64_t size() const override { return names_.files(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return 0; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override;
  // Why the listing could not be cached.
  [[nodiscard]] std::vector<std::string> notes() const override;
  void read(std::uint64_t id, RecordBuffer& record) const override;
  void read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const override;
  [[nodiscard]] int reads_in_flight() const override;
  [[nodiscard]] int most_reads_in_flight() const override { return kDiskReads; }
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override {
    return static_cast<std::int64_t>(class_of(id));
  }

  [[nodiscard]] const ImageListing& listing() const noexcept { return listing_; }

 private:
  [[nodiscard]] std::size_t class_of(std::uint64_t id) const noexcept { return part_of(class_begin_, id); }
  [[nodiscard]] ImagePath path_of(std::uint64_t id, std::span<char> buffer) const;
  void fill(std::uint64_t id, std::span<const std::uint8_t> bytes, RecordBuffer& record) const;

  std::string root_;
  FileDescriptor folder_;
  ImageListing listing_;
  const ListingView& names_;
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  std::vector<std::uint64_t> class_begin_;  // first id of each class, then size()
};

// Format table entry. The caller has chosen the split (split_folders.h).
[[nodiscard]] bool recognises_image_folder(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_image_folder(const Source& source, const std::string& split);

}  // namespace unstarve
