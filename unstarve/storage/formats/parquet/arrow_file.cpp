// ParquetFile based on Arrow C++. Only arrow_*.cpp include Arrow headers.
#include <arrow/config.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <algorithm>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/formats/parquet/arrow_columns.h"
#include "unstarve/storage/formats/parquet/arrow_decode.h"
#include "unstarve/storage/formats/parquet/arrow_module.h"
#include "unstarve/storage/formats/parquet/arrow_source.h"
#include "unstarve/storage/formats/parquet/parquet_file.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kTrailerBytes = 8;                          // length of the footer u32, magic
constexpr std::uint64_t kMinFileBytes = 4 + kTrailerBytes;          // magic at the beginning, trailer
constexpr std::uint64_t kFirstTailBytes = std::uint64_t{64} << 10;  // contains the footer of most files
constexpr std::uint64_t kMaxFooterBytes = std::uint64_t{256} << 20;

class ArrowFile final : public ParquetFile {
 public:
  ArrowFile(ParquetSource source, const std::string& image, const std::string& label)
      : ParquetFile(std::move(source.bytes)), check_map_(source.check_map) {
    try {
      read_footer();
      choose(image, label);
      for (int number = 0; number < metadata_->num_row_groups(); ++number) list_group(number);
      check_rows();
    } catch (const Error& error) {
      throw Error(error.kind(), "open parquet " + name() + ": " + error.what());
    } catch (const parquet::ParquetException& error) {
      throw input_error("open parquet {}: the footer is damaged: {}", name(), error.what());
    }
  }

  [[nodiscard]] RowGroup decode(std::size_t number, bool with_images) const override;

 private:
  struct Chunks {
    Chunk image, label;
  };

  void read_footer();
  void choose(const std::string& image, const std::string& label);
  void list_group(int number);
  void check_rows() const;
  [[nodiscard]] Chunk chunk_of(const parquet::ColumnChunkMetaData& column, std::uint64_t rows) const;
  [[nodiscard]] Chunk range_of(const parquet::ColumnChunkMetaData& column) const;
  void check_chunks(std::size_t number) const;
  void read_columns(std::size_t number, bool with_images, const std::shared_ptr<SourceFile>& file,
                    arrow::MemoryPool& pool, RowGroup& group) const;

  CheckMap check_map_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<Chunks> chunks_;
};

// Checks every length before it is used. Allocations of Thrift for lists and strings are limited to the footer length.
void ArrowFile::read_footer() {
  const std::uint64_t size = source_->size();
  if (size < kMinFileBytes) {
    throw input_error("not Parquet: the file has {} bytes", size);
  }
  std::vector<std::uint8_t> tail(static_cast<std::size_t>(std::min(size, kFirstTailBytes)));
  source_->read(size - tail.size(), tail);
  const std::string_view magic(reinterpret_cast<const char*>(tail.data()) + tail.size() - 4, 4);
  if (magic == "PARE") throw input_error("the footer is encrypted, which is not supported");
  if (magic != "PAR1") {
    throw input_error("the file does not end with PAR1: truncated, or still being written");
  }
  const std::uint64_t length = load_little<std::uint32_t>(tail.data() + tail.size() - kTrailerBytes);
  if (length > size - kMinFileBytes || length > kMaxFooterBytes) {
    throw input_error("the trailer declares a footer of {} bytes, the file has {}: damaged; copy or write it again",
                      length, size);
  }
  if (length + kTrailerBytes > tail.size()) {
    tail.resize(static_cast<std::size_t>(length + kTrailerBytes));
    source_->read(size - tail.size(), tail);
  }
  parquet::ReaderProperties properties;
  const auto limit = static_cast<std::int32_t>(std::max<std::uint64_t>(length, 1));
  properties.set_thrift_string_size_limit(std::min(limit, properties.thrift_string_size_limit()));
  properties.set_thrift_container_size_limit(std::min(limit, properties.thrift_container_size_limit()));
  metadata_ = parquet::FileMetaData::Make(tail.data() + tail.size() - kTrailerBytes - length,
                                          static_cast<std::int64_t>(length), properties);
}

void ArrowFile::choose(const std::string& image, const std::string& label) {
  std::vector<ParquetLeaf> leaves;
  leaves.reserve(static_cast<std::size_t>(std::max(0, metadata_->num_columns())));
  for (int i = 0; i < metadata_->num_columns(); ++i) leaves.push_back(leaf_of(*metadata_->schema()->Column(i)));
  HuggingFaceFeatures features;
  if (const auto& pairs = metadata_->key_value_metadata()) {
    const int index = pairs->FindKey("huggingface");
    if (index >= 0) features = parse_huggingface(pairs->value(index));
  }
  columns_ = choose_columns(leaves, features, image, label);
}

Chunk ArrowFile::chunk_of(const parquet::ColumnChunkMetaData& column, std::uint64_t rows) const {
  const std::string which = "the chunk of column " + column.path_in_schema()->ToDotString();
  if (!column.file_path().empty()) {
    throw input_error("{} is stored in another file, {}, which is not supported", which, column.file_path());
  }
  if (column.num_values() < 0 || static_cast<std::uint64_t>(column.num_values()) != rows) {
    throw input_error("{} has {} values; expected {}", which, column.num_values(), rows);
  }
  return range_of(column);
}

Chunk ArrowFile::range_of(const parquet::ColumnChunkMetaData& column) const {
  std::int64_t begin = column.data_page_offset();
  if (column.has_dictionary_page() && column.dictionary_page_offset() > 0) {
    begin = std::min(begin, column.dictionary_page_offset());
  }
  const std::int64_t bytes = column.total_compressed_size();
  const auto size = static_cast<std::int64_t>(source_->size());
  if (begin < 0 || bytes < 0 || begin > size || bytes > size - begin) {
    throw input_error("the footer declares {} bytes at offset {} for the chunk of column {}, the file has {}", bytes,
                      begin, column.path_in_schema()->ToDotString(), size);
  }
  return {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(bytes)};
}

void ArrowFile::list_group(int number) {
  try {
    const std::unique_ptr<parquet::RowGroupMetaData> row_group = metadata_->RowGroup(number);
    ParquetGroup group;
    if (row_group->num_rows() < 0 || static_cast<std::uint64_t>(row_group->num_rows()) > kMaxGroupRows) {
      throw input_error("the footer declares {} rows; expected at most {}", row_group->num_rows(), kMaxGroupRows);
    }
    group.rows = static_cast<std::uint64_t>(row_group->num_rows());
    Chunks chunks;
    const auto image = row_group->ColumnChunk(columns_.image);
    chunks.image = chunk_of(*image, group.rows);
    group.stored_bytes = chunks.image.bytes;
    const bool in_map = !source_->mapped().empty() && image->compression() == parquet::Compression::UNCOMPRESSED &&
                        !image->has_dictionary_page();
    if (!in_map) {
      group.decoded_bytes =
          std::min(decoded_limit(chunks.image.bytes),
                   static_cast<std::uint64_t>(std::max<std::int64_t>(0, image->total_uncompressed_size())));
    }
    if (columns_.label >= 0) {
      const auto label = row_group->ColumnChunk(columns_.label);
      chunks.label = chunk_of(*label, group.rows);
      group.stored_bytes += chunks.label.bytes;
      if (columns_.labels == ParquetLabels::kNumbers) group.largest_label = largest_by_statistics(*label);
    }
    groups_.push_back(group);
    chunks_.push_back(chunks);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("row group {}: {}", number, error.what()));
  }
}

void ArrowFile::check_rows() const {
  std::uint64_t rows = 0;
  for (const ParquetGroup& group : groups_) rows += group.rows;
  if (metadata_->num_rows() >= 0 && static_cast<std::uint64_t>(metadata_->num_rows()) == rows) return;
  throw input_error("the footer declares {} rows, the row groups contain {}", metadata_->num_rows(), rows);
}

RowGroup ArrowFile::decode(std::size_t number, bool with_images) const {
  const auto file = std::make_shared<SourceFile>(*source_);
  return decode_group(
      fmt::format("read {} row group {}: ", name(), number), *file, groups_[number].stored_bytes,
      [&](arrow::MemoryPool& pool, RowGroup& group) { read_columns(number, with_images, file, pool, group); },
      [&] { check_chunks(number); });
}

// Rejects data decoded from mapped pages that the file no longer contains.
void ArrowFile::check_chunks(std::size_t number) const {
  const std::span<const std::uint8_t> mapped = source_->mapped();
  if (mapped.empty()) return;
  for (const Chunk& chunk : {chunks_[number].image, chunks_[number].label})
    check_map_(mapped.data() + chunk.offset, static_cast<std::size_t>(chunk.bytes));
}

// Each call creates its own readers: with a parsed footer this costs microseconds.
void ArrowFile::read_columns(std::size_t number, bool with_images, const std::shared_ptr<SourceFile>& file,
                             arrow::MemoryPool& pool, RowGroup& group) const {
  const std::uint64_t rows = groups_[number].rows;
  parquet::ReaderProperties properties(&pool);
  properties.set_page_checksum_verification(true);
  std::vector<Chunk> needed;
  if (with_images) needed.push_back(chunks_[number].image);
  if (columns_.label >= 0) needed.push_back(chunks_[number].label);
  file->fetch(needed);
  const auto reader = parquet::ParquetFileReader::Open(file, properties, metadata_);
  const auto row_group = reader->RowGroup(static_cast<int>(number));
  if (columns_.label >= 0) read_labels(*row_group->Column(columns_.label), rows, group);
  if (!with_images) return;
  ImageStore store(group, source_->mapped(), groups_[number].decoded_bytes, decoded_limit(chunks_[number].image.bytes));
  read_images(*row_group->ColumnWithExposeEncoding(columns_.image, parquet::ExposedEncoding::DICTIONARY), rows, group,
              store);
}

}  // namespace

std::unique_ptr<const ParquetFile> open_arrow_file(ParquetSource source, const std::string& image,
                                                   const std::string& label) {
  return std::make_unique<ArrowFile>(std::move(source), image, label);
}

std::string linked_arrow_version() { return arrow::GetBuildInfo().version_string; }

}  // namespace unstarve
