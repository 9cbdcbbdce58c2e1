#pragma once
// A manifest: a CSV or JSON-lines file that lists images and their labels; manifest_rows.h tells how it is written.
//
// Paths:     relative ones are below the manifest's own folder, or below "#root=FOLDER"; one that leads out of it by
//            ".." is refused (costs its record): the list may be somebody else's. Absolute paths and URLs are taken as
//            they stand, since whoever wrote them meant just that file. Links are followed.
// Labels:    class numbers when every label of the file is a whole number, else names, numbered in their sorted order:
//            of all splits, so that a class has one number. "#label=COLUMN", "#label=none", "#path=COLUMN".
// Splits:    the column split, subset or partition.
// Order:     of the rows. Ownership: the paths in one pool: path + 13 bytes per row.
// Cost:      opening reads the list alone; read() is openat, fstat, pread, close, of a URL two requests.
// Failure:   as dataset.h; a row that is none is a record that cannot be read, with file and line.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset.h"
#include "unstarve/storage/file_descriptor.h"
#include "unstarve/storage/folder/manifest_rows.h"
#include "unstarve/storage/format.h"
#include "unstarve/storage/io/residency.h"

namespace unstarve {

inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{4} << 30;

class Manifest final : public Dataset {
 public:
  // `text` is the content of the file `name`; relative paths are below `root` (a folder or URL; "" is the working
  // folder). Throws Error(kInput) without a row, Error(kArgument) for a split that no row has.
  Manifest(std::string name, std::string_view text, ManifestKind kind, const ManifestColumns& columns, std::string root,
           const std::string& split);

  [[nodiscard]] std::string format() const override { return "manifest"; }
  [[nodiscard]] std::uint64_t size() const override { return paths_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return 0; }
  [[nodiscard]] RecordPlace place(std::uint64_t id) const override;
  void read(std::uint64_t id, RecordBuffer& record) const override;
  [[nodiscard]] int reads_in_flight() const override;
  [[nodiscard]] int most_reads_in_flight() const override { return kDiskReads; }
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override {
    return labels_[id] >= 0 ? std::optional<std::int64_t>(labels_[id]) : std::nullopt;
  }

 private:
  void add(const ManifestRow& row);
  [[nodiscard]] bool remote(const char* path) const noexcept;
  void number_classes(const std::vector<std::string>& labels, const std::vector<std::uint32_t>& label_of);

  std::string name_;
  std::string root_;
  FileDescriptor folder_;  // root_, where it is local
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  std::vector<char> pool_;                         // paths, each ended by NUL
  std::vector<std::uint64_t> paths_;               // where in pool_ the path of record `id` begins
  std::vector<std::int32_t> labels_;               // -1: none
  std::map<std::uint64_t, std::string> problems_;  // of records that cannot be read
};

// The row of the format table: a text file whose first line is a header with a path, a JSON object with one, or names
// an image.
[[nodiscard]] bool recognises_manifest(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_manifest(const Source& source, const std::string& split);

}  // namespace unstarve
