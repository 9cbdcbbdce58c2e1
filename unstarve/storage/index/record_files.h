#pragma once
// Shards of records as one random-access data set, over an index that one pass over each shard makes.
//
// Ids:       the shards in the order given, in each the records in the order of the file. A damaged record has an id,
//            too: reading it throws, and its neighbours keep theirs.
// Index:     one sidecar per shard (index_sidecar.h): "<shard>.unstarve-index" beside it; where that folder cannot be
//            written, and for URLs, in $XDG_CACHE_HOME/unstarve/index (~/.cache/unstarve/index). One made by other
//            options, another version, or of a file that has changed in size or time since is made again, by a few
//            shards at a time. Where neither place can be written the index lives in memory only, see notes(). One
//            that turns out damaged while it is read is made again then (kept_index.h).
// Compressed shards (gzip, zlib): read through the seek points kept in the index (inflate.h).
// Classes:   numbers 0 .. largest label, named where the records name them, or else the manifest of a packed folder
//            (pack_classes.h); records that only name their class are numbered by the sorted names of all shards.
// Ownership: holds every shard open (mapped where local) and its index mapped.
// Threads:   as Dataset.
// Failure:   opening: Error(kInput) when no record is there, every one is damaged, or a shard begins as another format
//            does; Error(kIo). read(): as Dataset, with shard, record and offset in front.
// Cost:      with indexes there, opening costs per shard and not per record; read() of a mapped shard copies nothing.

#include <memory>
#include <string>
#include <vector>

#include "unstarve/core/image.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/io/residency.h"
#include "unstarve/storage/source/open_bytes.h"

namespace unstarve {

struct RecordFilesOptions {
  // Reads and writes index sidecars; without it indexes are made in memory every time (for tests and fuzzing).
  bool keep_index = true;
  // That open and index shards; 0: as many as processors, at most 4; for URLs 16.
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
  [[nodiscard]] std::uint64_t stored_bytes() const override { return stored_bytes_; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override;
  [[nodiscard]] std::vector<DataFile> files() const override;
  // Why indexes could not be kept, or damaged ones not replaced, one line per shard; before them that a folder is not
  // packed to its end (unfinished_pack.h).
  [[nodiscard]] std::vector<std::string> notes() const override;
  void read(std::uint64_t id, RecordBuffer& record) const override;
  void read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const override;
  // The beginning of a record that lies in a map.
  std::span<const std::uint8_t> prefetch(std::uint64_t id) const noexcept override;
  // Never out of a map: the record's bytes are copied, and those up to the next record, members beside the image.
  std::uint64_t read_all(std::uint64_t id, RecordBuffer& record) const override;
  [[nodiscard]] int reads_in_flight() const override;
  [[nodiscard]] int most_reads_in_flight() const override { return kDiskReads; }
  // Of the index; nothing for a record that is damaged or an index that is.
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override;
  [[nodiscard]] std::optional<Size> known_size(std::uint64_t id) const override;
  [[nodiscard]] std::vector<std::string> unread_fields() const override { return format_->unread_fields(); }

  // Upright width and height from the image's header, 0 x 0 where it did not tell. Throws Error(kInput) for a damaged
  // index.
  [[nodiscard]] Size image_size(std::uint64_t id) const;

 private:
  struct OpenShard;
  struct Found;

  void open_shards(std::vector<Shard> shards, const RecordFilesOptions& options);
  void number_classes();
  void take_names(const std::vector<std::string>& sorted);
  bool take_packed_names(std::uint32_t classes);
  void refuse_empty() const;
  [[nodiscard]] Found find(std::uint64_t id) const;
  [[nodiscard]] Found check(std::uint64_t id) const;
  [[nodiscard]] static std::int64_t label_of(const Found& found);  // negative: none
  [[nodiscard]] static bool lies_outside(const Found& found);
  void fill(const Found& found, std::uint64_t id, std::span<const std::uint8_t> stored, RecordBuffer& record) const;
  void read_copy(const Found& found, std::uint64_t id, RecordBuffer& record) const;

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
