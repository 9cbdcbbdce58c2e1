#pragma once
// A manifest: a CSV or JSON-lines file that lists images and their labels; manifest_rows.h documents the syntax.
//
// Files:     one, or several given by a glob or braces: their rows in that order, with common splits and classes.
// Paths:     relative paths are below the folder of the manifest, or below "#root=FOLDER". A relative path that leaves
//            that folder through ".." is rejected (an error of its record), because manifests may be untrusted.
//            Absolute paths and URLs are used as written.
// Labels:    class numbers if every label is an integer (2, or 2.0 as spreadsheets write it), otherwise names, numbered
//            in sorted order over all splits. Numbers in most rows and names in some are rejected: a typo in one number
//            would renumber all classes. Floats and lists are not classes (class_text.h): if any label is one, the
//            records have no labels. "#classes=names" reads all labels as names. Other options: "#label=COLUMN",
//            "#label=none", "#path=COLUMN".
// Splits:    the column split, subset or partition.
// Ownership: owns the paths in one pool: path + 13 bytes per row. Threads: as Dataset.
// Failure:   as dataset.h; an invalid row is a record whose read() throws, with file and line. Opening does not check
//            whether the images exist.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/formats/folder/manifest_rows.h"
#include "unstarve/storage/io/residency.h"

namespace unstarve {

struct Source;

inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{4} << 30;

// kByLabels: numbers or names, depending on the labels. kNames: always names.
enum class ManifestClasses { kByLabels, kNames };

struct ManifestFile {
  std::shared_ptr<const ByteSource> bytes;
  std::string root;  // folder or URL that relative paths refer to; "" is the working directory
};

class Manifest final : public Dataset {
 public:
  // `name` names the dataset in messages. Throws Error(kInput) if there is no row, if labels mix numbers and names, and
  // for a file that is not a manifest or exceeds kMaxManifestBytes; Error(kArgument) for a split without rows and for a
  // requested label that is not a column of a CSV file or a key of any JSON row.
  Manifest(const std::string& name, std::span<const ManifestFile> files, const ManifestColumns& columns,
           const std::string& split, ManifestClasses classes = ManifestClasses::kByLabels);

  [[nodiscard]] std::string format() const override { return "manifest"; }
  [[nodiscard]] std::uint64_t size() const override { return paths_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::string missing_labels() const override { return missing_labels_; }
  [[nodiscard]] std::string label_choice() const override { return "column"; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return 0; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override;
  void read(std::uint64_t id, RecordBuffer& record) const override;
  [[nodiscard]] int reads_in_flight() const override;
  [[nodiscard]] int most_reads_in_flight() const override { return kDiskReads; }
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override {
    return labels_[id] >= 0 ? std::optional<std::int64_t>(labels_[id]) : std::nullopt;
  }

 private:
  struct List {
    std::string name;
    std::string root;
    FileDescriptor folder;    // the root, if it is local
    std::uint64_t first = 0;  // id of the first record
  };

  void add(const ManifestRow& row);
  [[nodiscard]] const List& list_of(std::uint64_t id) const noexcept;
  [[nodiscard]] static bool remote(const List& list, const char* path) noexcept;
  struct Labels;
  void number_classes(const Labels& labels, const std::vector<std::uint32_t>& label_of);

  std::vector<List> lists_;
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  std::string missing_labels_;
  std::vector<char> pool_;                         // paths, each NUL-terminated
  std::vector<std::uint64_t> paths_;               // offset in pool_ of the path of each record
  std::vector<std::int32_t> labels_;               // -1: none
  std::map<std::uint64_t, std::string> problems_;  // by id: why a record cannot be read
};

// Format table entry: text files whose first line is a header with a path column, a JSON object with a path key, or
// begins with the path of an image.
[[nodiscard]] bool recognises_manifest(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_manifest(const Source& source, const std::string& split);

}  // namespace unstarve
