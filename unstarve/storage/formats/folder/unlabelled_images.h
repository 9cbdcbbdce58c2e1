#pragma once
// Image files without labels: a folder without subfolders, or the files that a path or pattern names.
//
//   photos/1.jpg  photos/2.png  photos/readme.txt          2 samples
//
// Order:     by name, bytewise; of several paths, their order.
// Samples:   in a folder, the files ending in .jpg, .jpeg, .png or .webp in any case; otherwise every named file.
// Fields:    image only, as of a manifest without a label column.
// Ownership: keeps the folder open and the names of all files.
// Cost:      opening does not stat the files. read() is as in ImageFolder; of a URL it is two requests.
// Failure:   as dataset.h. Threads: as Dataset.

#include <memory>
#include <string>
#include <vector>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct ImagePath;
struct Source;

class UnlabelledImages final : public Dataset {
 public:
  // `names` are relative to `root`, a folder or its URL; if `root` is empty, they are paths or URLs.
  UnlabelledImages(std::string root, std::vector<std::string> names);

  [[nodiscard]] std::string format() const override { return "images"; }
  [[nodiscard]] std::uint64_t size() const override { return names_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return 0; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override;
  void read(std::uint64_t id, RecordBuffer& record) const override;
  [[nodiscard]] int reads_in_flight() const override;
  [[nodiscard]] int most_reads_in_flight() const override;

 private:
  [[nodiscard]] std::string path_of(std::uint64_t id) const;
  [[nodiscard]] ImagePath local_path(std::uint64_t id) const;

  std::string root_;
  std::vector<std::string> names_;
  FileDescriptor folder_;  // root_, if it is local
  bool remote_;            // all files are
  std::vector<Field> fields_{{"image", FieldKind::kEncodedImage}};
  std::vector<std::string> classes_;  // none
};

// Format table entry: recognised by the file names of a folder, or by the first bytes of a file.
[[nodiscard]] bool recognises_unlabelled_images(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_unlabelled_images(const Source& source, const std::string& split);

}  // namespace unstarve
