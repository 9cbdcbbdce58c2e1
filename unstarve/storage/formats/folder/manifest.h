#pragma once
// A manifest: a CSV or JSON-lines file that lists images and their labels; manifest_rows.h tells how it is written.
//
// Files:     one, or several by a glob or braces: the rows of each in that order, with splits and classes in common. A
//            CSV file has the header that its columns need; one without a header names an image in its first column.
// Paths:     relative ones are below the manifest's own folder, or below "#root=FOLDER"; one that leads out of it by
//            ".." is refused (costs its record): the list may be somebody else's. Absolute paths and URLs are taken as
//            they stand, since whoever wrote them meant just that file. Links are followed.
// Labels:    class numbers when every label is a whole number (2, or 2.0 as tables write it), else names, numbered in
//            their sorted order: of all splits, so that a class has one number. Numbers for most rows and names for
//            some are refused, as one misspelt number would number all anew; "#classes=names" takes all as names.
//            "#label=COLUMN", "#label=none", "#path=COLUMN".
// Splits:    the column split, subset or partition.
// Order:     of the rows. Ownership: the paths in one pool: path + 13 bytes per row.
// Cost:      opening reads the list alone; read() is openat, fstat, pread, close, of a URL two requests.
// Checked:   at opening that each file is a manifest, that a row has a path and its quotes close, that the path does
//            not lead out, that a label is a class number or a name; not that the images are there, which read() tells.
// Failure:   as dataset.h; a row that is none is a record that cannot be read, with file and line.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/file_descriptor.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/formats/folder/manifest_rows.h"
#include "unstarve/storage/io/residency.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {

inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{4} << 30;

// How labels are told to be class numbers or names.
enum class ManifestClasses { kByLabels, kNames };

struct ManifestFile {
  std::shared_ptr<const ByteSource> bytes;
  std::string root;  // a folder or URL that relative paths are below; "" is the working folder
};

class Manifest final : public Dataset {
 public:
  // `name` is what they are called together. Throws Error(kInput) without a row, for labels that are numbers and names
  // (above), and for a file that is no manifest or holds more than kMaxManifestBytes; Error(kArgument) for a split that
  // no row has and for a label that is asked for by name and is no column of a CSV file, or no key of any JSON row.
  Manifest(const std::string& name, std::span<const ManifestFile> files, const ManifestColumns& columns,
           const std::string& split, ManifestClasses classes = ManifestClasses::kByLabels);

  [[nodiscard]] std::string format() const override { return "manifest"; }
  [[nodiscard]] std::uint64_t size() const override { return paths_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
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
    FileDescriptor folder;    // root, where it is local
    std::uint64_t first = 0;  // id of its first record
  };

  void add(const ManifestRow& row);
  [[nodiscard]] const List& list_of(std::uint64_t id) const noexcept;
  [[nodiscard]] static bool remote(const List& list, const char* path) noexcept;
  struct Labels;
  void number_classes(const Labels& labels, const std::vector<std::uint32_t>& label_of);

  std::vector<List> lists_;
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  std::vector<char> pool_;                         // paths, each ended by NUL
  std::vector<std::uint64_t> paths_;               // where in pool_ the path of record `id` begins
  std::vector<std::int32_t> labels_;               // -1: none
  std::map<std::uint64_t, std::string> problems_;  // of records that cannot be read
};

// The row of the format table: text files, of which the one that was looked at has a first line that is a header with a
// path, a JSON object with one, or names an image.
[[nodiscard]] bool recognises_manifest(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_manifest(const Source& source, const std::string& split);

}  // namespace unstarve
