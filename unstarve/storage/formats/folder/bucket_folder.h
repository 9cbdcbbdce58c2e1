#pragma once
// An image folder in a bucket: the counterpart of ImageFolder, based on the object listing.
//
//   s3://bucket/photos/cat/1.jpg   s3://bucket/photos/cat/outdoors/2.jpeg   s3://bucket/photos/dog/7.PNG
//
// Order, samples, fields and classes are those of ImageFolder. Objects with an empty or hidden component in their key
// ("a//b.jpg", ".x/b.jpg") and "folders" (keys that end in '/') are skipped.
//
// Ownership: owns the names of all objects in one pool: key below the class, ETag and 14 bytes per object.
// Cost:      opening lists the classes concurrently, one round trip per 1000 objects; read() is one request.
// Failure:   as dataset.h; an object that was replaced after the listing is an Error. Threads: as Dataset.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve {

class BucketFolder final : public Dataset {
 public:
  // `root`: URL of the folder without a trailing '/'; `classes`: the names of its subfolders, sorted bytewise. Throws
  // Error(kInput) if there is no image.
  BucketFolder(std::string root, std::vector<std::string> classes);

  [[nodiscard]] std::string format() const override { return "image folder"; }
  [[nodiscard]] std::uint64_t size() const override { return begins_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return stored_bytes_; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override;
  void read(std::uint64_t id, RecordBuffer& record) const override;
  [[nodiscard]] int reads_in_flight() const override;
  [[nodiscard]] int most_reads_in_flight() const override;
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override {
    return static_cast<std::int64_t>(class_of(id));
  }

 private:
  [[nodiscard]] std::size_t class_of(std::uint64_t id) const noexcept { return part_of(class_begin_, id); }
  [[nodiscard]] std::string url_of(std::uint64_t id) const;
  void take(std::size_t number, std::vector<RemoteObject> objects);

  std::string root_;
  std::vector<Field> fields_{{"image", FieldKind::kEncodedImage}, {"label", FieldKind::kLabel}};
  std::vector<std::string> classes_;
  std::vector<std::uint64_t> class_begin_;  // first id of each class, then size()
  std::vector<char> pool_;                  // per object: key below the class and ETag, each NUL-terminated
  std::vector<std::uint64_t> begins_;       // offset of each object in the pool
  std::vector<std::uint32_t> bytes_;        // size of each object, at most kTooLarge
  std::uint64_t stored_bytes_ = 0;
};

}  // namespace unstarve
