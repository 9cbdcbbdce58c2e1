#pragma once
// Image files in one folder per class.
//
//   photos/cat/1.jpg  photos/cat/outdoors/2.jpeg  photos/dog/7.PNG      classes: 0 cat, 1 dog
//
// Order:     classes by name; within a class by the folder's path, then by file name; all compared byte by byte. This
//            is the order of torchvision's ImageFolder, so ids and labels agree with it. It depends on names only.
// Samples:   files ending in .jpg, .jpeg, .png, .webp in any case, at any depth below the class folder. Hidden entries
//            and other files are left out. Links are followed; a folder is entered once per class, so that loops end.
//            A class folder without images keeps its number.
// Fields:    image (encoded), label.
// Ownership: keeps the root open and the names of all files in one pool: name + 9 bytes per file, see memory_bytes().
// Cost:      opening lists the class folders, several at once, or takes the listing of the run before where nothing has
//            changed since (image_listing.h), and does not look at the files; read() is openat, fstat, pread, close.
// Checked:   at opening that a class folder holds an image by its name; at read() that the file is a regular one of 1
//            to kMaxImageBytes bytes. What is in it the decoder finds.
// Failure:   as in dataset.h; a missing, unreadable or vanished file is Error(kIo), an empty one or one larger than
//            kMaxImageBytes Error(kInput).

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/storage/bytes/file_descriptor.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/formats/folder/image_file.h"
#include "unstarve/storage/formats/folder/image_listing.h"
#include "unstarve/storage/io/residency.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {

class ImageFolder final : public Dataset {
 public:
  // Throws Error(kIo) when a folder cannot be read, Error(kInput) when there is no image.
  explicit ImageFolder(std::string root, const ListingOptions& options = {});

  [[nodiscard]] std::string format() const override { return "image folder"; }
  [[nodiscard]] std::uint64_t size() const override { return names_.files(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return 0; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override;
  // Why the listing could not be kept.
  [[nodiscard]] std::vector<std::string> notes() const override;
  void read(std::uint64_t id, RecordBuffer& record) const override;
  void read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const override;
  [[nodiscard]] int reads_in_flight() const override;
  [[nodiscard]] int most_reads_in_flight() const override { return kDiskReads; }
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override {
    return static_cast<std::int64_t>(class_of(id));
  }

  // Bytes held for names and order, in memory or mapped.
  [[nodiscard]] std::size_t memory_bytes() const;
  [[nodiscard]] const ImageListing& listing() const noexcept { return listing_; }

 private:
  [[nodiscard]] std::size_t class_of(std::uint64_t id) const;
  [[nodiscard]] ImagePath path_of(std::uint64_t id, std::span<char> room) const;
  void fill(std::uint64_t id, std::span<const std::uint8_t> bytes, RecordBuffer& record) const;

  std::string root_;
  FileDescriptor folder_;
  ImageListing listing_;
  const ListingView& names_;
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  std::vector<std::uint64_t> class_begin_;  // first id of each class, and size() at the end
};

// The row of the format table. A folder whose only sub-folders are splits (train, test, val, ...) that hold class
// folders needs `split`: without it the classes would be called train and test.
[[nodiscard]] bool recognises_image_folder(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_image_folder(const Source& source, const std::string& split);

}  // namespace unstarve
