#pragma once
// A Dataset of several Parquet or Arrow files with a cache of row groups. parquet.h documents the contract.

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "unstarve/core/process/per_process.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/storage/formats/parquet/parquet_file.h"
#include "unstarve/storage/formats/parquet/row_group_cache.h"
#include "unstarve/storage/source/open_bytes.h"

namespace unstarve {

class ParquetDataset final : public Dataset {
 public:
  ParquetDataset(std::vector<Shard> shards, const ParquetOptions& options);
  ~ParquetDataset() override;

  [[nodiscard]] std::string format() const override { return format_; }
  [[nodiscard]] std::uint64_t size() const override { return begins_.back(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::string missing_labels() const override { return missing_labels_; }
  [[nodiscard]] std::string label_choice() const override { return "column"; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return stored_bytes_; }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override;
  [[nodiscard]] std::vector<DataFile> files() const override;
  // Notes about folders that are not completely packed (packed_shards.h).
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  void read(std::uint64_t id, RecordBuffer& record) const override;
  // Looks up each row group once; the next one is decoded concurrently.
  void read_many(std::span<const std::uint64_t> ids, std::span<RecordBuffer> records) const override;
  std::span<const std::uint8_t> prefetch(std::uint64_t id) const noexcept override;

  // Number of row groups decoded so far.
  [[nodiscard]] std::uint64_t decoded_groups() const { return cache_->get().decoded(); }

 private:
  struct Group {
    std::uint32_t file;
    std::uint32_t number;     // in the file
    std::uint64_t first_row;  // of the file's rows
  };

  void open_files(std::vector<Shard> shards, const ParquetOptions& options);
  void list_groups();
  void number_classes(int threads);
  void take_class_names();
  void read_label_columns(int threads);
  [[nodiscard]] bool has_class_number() const;
  [[nodiscard]] std::size_t group_of(std::uint64_t id) const noexcept { return part_of(begins_, id); }
  [[nodiscard]] const ParquetGroup& info_of(std::size_t group) const;
  [[nodiscard]] std::shared_ptr<const RowGroup> decode(std::size_t group) const;
  void fill(std::uint64_t id, std::size_t group, const RowGroup& rows, RecordBuffer& record) const;

  std::string format_;
  std::vector<std::unique_ptr<const ParquetFile>> files_;
  std::vector<Group> groups_;          // of all files
  std::vector<std::uint64_t> begins_;  // first id of each group, then size()
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  std::string missing_labels_;
  std::vector<std::string> notes_;
  std::unordered_map<std::string, std::int64_t> number_of_class_;  // if labels are names
  ParquetLabels labels_ = ParquetLabels::kNone;
  std::uint64_t stored_bytes_ = 0;
  std::optional<PerProcess<RowGroupCache>> cache_;  // last: its threads use the others
};

// The options of the source. Throws Error(kArgument) for unknown ones.
[[nodiscard]] ParquetOptions parquet_options(const Source& source);

}  // namespace unstarve
