#pragma once
// Shards of records as one random-access dataset, over an index that one pass over each shard builds.
//
// Ids:       the shards in the given order, within each the records in file order. A damaged record has an id, too:
//            reading it throws; the ids of other records are unaffected.
// Index:     one per shard (record_index.h, index_paths.h), rebuilt if its options or version differ or if the size or
//            time of the file has changed. If it cannot be saved it is in memory only, see notes(). An index found
//            damaged while it is read is rebuilt then (repairing_index.h).
// Classes:   numbers 0 .. largest label, named by the records, or else by the manifest of a packed folder
//            (packed_shards.h); records with only a class name are numbered by the sorted names of all shards.
// Ownership: keeps every shard open (mapped if local) and its index mapped. Threads: as Dataset.
// Failure:   opening: Error(kInput) if there is no record, if all are damaged, or if a shard has the magic of another
//            format; Error(kIo). read(): as Dataset; messages begin with shard, record and offset.
// Cost:      if indexes exist, opening costs per shard and not per record; read() of a mapped shard copies nothing.

#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/io/residency.h"
#include "unstarve/storage/source/open_bytes.h"

namespace unstarve {

struct RecordFilesOptions {
  // Whether index sidecars are read and written; else indexes are built in memory every time (tests and fuzzing).
  bool keep_index = true;
  // Threads that open and index shards. 0: one per CPU, at most 4; for URLs 16.
  int threads = 0;
};

class RecordFiles final : public Dataset {
 public:
  RecordFiles(std::vector<Shard> shards, std::shared_ptr<const RecordFormat> format,
              const RecordFilesOptions& options = {});
  ~RecordFiles() override;

  [[nodiscard]] std::string format() const override { return format_->name(); }
  [[nodiscard]] std::uint64_t size() const override { return begins_.back(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  // Scans the first record again.
  [[nodiscard]] std::string missing_labels() const override;
  [[nodiscard]] std::string label_choice() const override { return format_->label_choice(); }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return stored_bytes_; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override;
  [[nodiscard]] std::vector<DataFile> files() const override;
  // One line per folder with an unfinished pack (packed_shards.h), then one per shard whose index could not be saved
  // or replaced.
  [[nodiscard]] std::vector<std::string> notes() const override;
  void read(std::uint64_t id, RecordBuffer& record) const override;
  void read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const override;
  // Returns the beginning of a record in a mapped shard.
  std::span<const std::uint8_t> prefetch(std::uint64_t id) const noexcept override;
  [[nodiscard]] int reads_in_flight() const override;
  [[nodiscard]] int most_reads_in_flight() const override { return kDiskReads; }
  // From the index; nothing for a damaged record or index.
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override;
  [[nodiscard]] std::optional<Size> known_size(std::uint64_t id) const override;

 private:
  struct OpenShard;
  struct Found;

  void open_shards(std::vector<Shard> shards, const RecordFilesOptions& options);
  void number_classes();
  [[nodiscard]] bool texts_are_names() const;
  static std::uint32_t number_texts(OpenShard& shard);
  void take_names(const std::vector<std::string>& sorted);
  bool take_packed_names(std::uint32_t classes);
  void reject_empty() const;
  [[nodiscard]] Found find(std::uint64_t id) const;
  [[nodiscard]] Found check(std::uint64_t id) const;
  [[nodiscard]] static std::int64_t label_of(const Found& found);  // negative: none
  [[nodiscard]] static bool is_outside(const Found& found);
  void fill(const Found& found, std::uint64_t id, std::span<const std::uint8_t> stored, RecordBuffer& record) const;

  std::shared_ptr<const RecordFormat> format_;
  std::vector<std::unique_ptr<OpenShard>> shards_;
  std::vector<std::uint64_t> begins_;  // first id of each shard, and size() at the end
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  std::vector<std::string> unfinished_;
  std::uint64_t stored_bytes_ = 0;
  bool labelled_ = false;
};

}  // namespace unstarve
