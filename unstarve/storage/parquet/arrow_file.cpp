// ParquetFile over Arrow C++. With arrow_writer.cpp the only file that includes Arrow's headers.
#include <arrow/buffer.h>
#include <arrow/config.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/storage/little_endian.h"
#include "unstarve/storage/parquet/parquet.h"
#include "unstarve/storage/parquet/parquet_file.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kTrailerBytes = 8;                          // footer's length u32, magic
constexpr std::uint64_t kLeastBytes = 4 + kTrailerBytes;            // the magic at the beginning
constexpr std::uint64_t kFirstTailBytes = std::uint64_t{64} << 10;  // fetched at once: holds the footer of most files
constexpr std::uint64_t kMaxFooterBytes = std::uint64_t{256} << 20;
constexpr std::int64_t kBatchRows = 4096;
constexpr std::size_t kMaxClassNameBytes = 4096;
constexpr std::size_t kBlockBytes = std::size_t{16} << 20;
// What a page may decode to. 1032 is the most that deflate can do (zlib's technical details).
constexpr std::uint64_t kSlackBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostExpansion = 1032;
constexpr std::uint64_t kMostGroupBytes = std::uint64_t{1} << 36;

// A value of no bytes points here, as null means that there is none.
constexpr std::uint8_t kNoByte = 0;

std::uint64_t decoded_limit(std::uint64_t stored_bytes) {
  return std::min(kMostGroupBytes, kSlackBytes + std::min(stored_bytes, kMostGroupBytes) * kMostExpansion);
}

struct Chunk {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// A ByteSource as Arrow wants it: a slice of the map where there is one, else exactly the bytes asked for. Chunks given
// to fetch() are read together and then served from memory. An Error of the source is kept and told as IOError.
class SourceFile final : public arrow::io::RandomAccessFile {
 public:
  explicit SourceFile(const ByteSource& source) : source_(source), mapped_(source.mapped()) {}

  void fetch(std::span<const Chunk> chunks) {
    if (!mapped_.empty()) return;
    std::vector<ReadRange> ranges;
    for (const Chunk& chunk : chunks) {
      auto buffer = arrow::AllocateBuffer(static_cast<std::int64_t>(chunk.bytes));
      if (!buffer.ok()) throw Error(ErrorKind::kMemory, buffer.status().ToString());
      fetched_.emplace_back(chunk, *std::move(buffer));
      ranges.push_back({chunk.offset, {fetched_.back().second->mutable_data(), chunk.bytes}});
    }
    source_.read_many(ranges);
  }
  [[nodiscard]] const std::exception_ptr& failure() const { return failure_; }

  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position, std::int64_t length) override {
    if (!within(position, length)) return arrow::Status::Invalid("a chunk reaches beyond the end of the file");
    const auto offset = static_cast<std::uint64_t>(position), bytes = static_cast<std::uint64_t>(length);
    if (!mapped_.empty()) return std::make_shared<arrow::Buffer>(mapped_.data() + offset, length);
    for (const auto& [chunk, buffer] : fetched_) {
      if (offset >= chunk.offset && offset - chunk.offset <= chunk.bytes &&
          bytes <= chunk.bytes - (offset - chunk.offset)) {
        return arrow::SliceBuffer(buffer, static_cast<std::int64_t>(offset - chunk.offset), length);
      }
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(length));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t done, ReadAt(position, length, buffer->mutable_data()));
    (void)done;
    return buffer;
  }
  arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t length, void* out) override {
    if (!within(position, length)) return arrow::Status::Invalid("a chunk reaches beyond the end of the file");
    try {
      source_.read(static_cast<std::uint64_t>(position),
                   {static_cast<std::uint8_t*>(out), static_cast<std::size_t>(length)});
    } catch (const Error& error) {
      failure_ = std::current_exception();
      return arrow::Status::IOError(error.what());
    }
    return length;
  }
  arrow::Result<std::int64_t> GetSize() override { return static_cast<std::int64_t>(source_.size()); }

  // A file has no position for ReadAt(), but the interface asks for one.
  arrow::Result<std::int64_t> Read(std::int64_t length, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t done, ReadAt(position_, length, out));
    position_ += done;
    return done;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t length) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, length));
    position_ += length;
    return buffer;
  }
  arrow::Status Seek(std::int64_t position) override {
    position_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  [[nodiscard]] bool closed() const override { return closed_; }

 private:
  [[nodiscard]] bool within(std::int64_t position, std::int64_t length) const {
    return position >= 0 && length >= 0 && static_cast<std::uint64_t>(position) <= source_.size() &&
           static_cast<std::uint64_t>(length) <= source_.size() - static_cast<std::uint64_t>(position);
  }

  const ByteSource& source_;
  std::span<const std::uint8_t> mapped_;
  std::vector<std::pair<Chunk, std::shared_ptr<arrow::Buffer>>> fetched_;
  std::exception_ptr failure_;
  std::int64_t position_ = 0;
  bool closed_ = false;
};

ParquetLeaf leaf_of(const parquet::ColumnDescriptor& column) {
  ParquetLeaf leaf{column.path()->ToDotString(), LeafType::kOther, column.max_repetition_level() > 0,
                   parquet::TypeToString(column.physical_type())};
  switch (column.physical_type()) {
    case parquet::Type::BOOLEAN:
    case parquet::Type::INT32:
    case parquet::Type::INT64: leaf.type = LeafType::kWhole; break;
    case parquet::Type::BYTE_ARRAY: leaf.type = LeafType::kBytes; break;
    default: break;
  }
  return leaf;
}

// Reads the values of one column of one row group: row(i, value) for each row that has a value. `Value` is the physical
// type's.
template <class Type, class Row>
void for_each_row(parquet::ColumnReader& column, std::uint64_t rows, const Row& row) {
  using Value = typename Type::c_type;
  auto& reader = static_cast<parquet::TypedColumnReader<Type>&>(column);
  const std::int16_t present = column.descr()->max_definition_level();
  const auto batch = static_cast<std::size_t>(std::min<std::uint64_t>(rows, kBatchRows));
  std::vector<std::int16_t> levels(batch, present);
  const std::unique_ptr<Value[]> values(new Value[batch]);
  std::uint64_t done = 0;
  while (done < rows && reader.HasNext()) {
    std::int64_t read = 0;
    const std::int64_t want = static_cast<std::int64_t>(std::min<std::uint64_t>(rows - done, batch));
    std::int64_t found = reader.ReadBatch(want, present > 0 ? levels.data() : nullptr, nullptr, values.get(), &read);
    if (present == 0) found = read;
    if (found <= 0) break;
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < found; ++i) {
      const bool there = levels[static_cast<std::size_t>(i)] == present && next < read;
      row(done + static_cast<std::uint64_t>(i), there ? &values[static_cast<std::size_t>(next++)] : nullptr);
    }
    done += static_cast<std::uint64_t>(found);
  }
  if (done == rows) return;
  throw Error(ErrorKind::kInput, "column " + column.descr()->path()->ToDotString() + " has " + std::to_string(done) +
                                     " values, expected " + std::to_string(rows));
}

// Takes the images of a row group to where they can stay: those in the map do already.
class ImageRoom {
 public:
  ImageRoom(RowGroup& group, std::span<const std::uint8_t> mapped, std::uint64_t expected, std::uint64_t limit)
      : group_(group), mapped_(mapped), expected_(expected), limit_(limit) {}

  std::span<const std::uint8_t> keep(const parquet::ByteArray& value) {
    const std::less_equal<> before;
    if (value.len == 0) return {&kNoByte, 0};
    if (!mapped_.empty() && before(mapped_.data(), value.ptr) &&
        before(value.ptr + value.len, mapped_.data() + mapped_.size())) {
      return {value.ptr, value.len};
    }
    std::uint8_t* const room = take(value.len);
    std::memcpy(room, value.ptr, value.len);
    return {room, value.len};
  }

 private:
  std::uint8_t* take(std::size_t bytes) {
    if (bytes > left_) {
      const auto rest = static_cast<std::size_t>(expected_ > used_ ? expected_ - used_ : 0);
      const std::size_t block = std::max(bytes, std::min(kBlockBytes, rest));
      if (block > limit_ - std::min(limit_, group_.block_bytes)) {
        throw Error(ErrorKind::kInput, "its images take more than " + std::to_string(limit_) + " bytes");
      }
      group_.blocks.emplace_back(block);
      group_.block_bytes += group_.blocks.back().capacity();
      at_ = group_.blocks.back().data();
      left_ = block;
    }
    left_ -= bytes;
    used_ += bytes;
    return std::exchange(at_, at_ + bytes);
  }

  RowGroup& group_;
  std::span<const std::uint8_t> mapped_;
  std::uint64_t expected_, limit_, used_ = 0;
  std::uint8_t* at_ = nullptr;
  std::size_t left_ = 0;
};

// Of a chunk that is dictionary-encoded as a whole: each entry is kept once, however many rows refer to it.
void read_dictionary_images(parquet::ByteArrayReader& reader, std::uint64_t rows, RowGroup& group, ImageRoom& room) {
  const std::int16_t present = reader.descr()->max_definition_level();
  const auto batch = static_cast<std::size_t>(std::min<std::uint64_t>(rows, kBatchRows));
  std::vector<std::int16_t> levels(batch, present);
  std::vector<std::int32_t> indices(batch);
  std::vector<std::span<const std::uint8_t>> entries;
  while (group.images.size() < rows && reader.HasNext()) {
    const parquet::ByteArray* dictionary = nullptr;
    std::int32_t length = 0;
    std::int64_t read = 0;
    const auto want = static_cast<std::int64_t>(std::min<std::uint64_t>(rows - group.images.size(), batch));
    std::int64_t found = reader.ReadBatchWithDictionary(want, present > 0 ? levels.data() : nullptr, nullptr,
                                                        indices.data(), &read, &dictionary, &length);
    if (present == 0) found = read;
    if (found <= 0) break;
    entries.resize(static_cast<std::size_t>(std::max(length, 0)));
    std::size_t next = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(found); ++i) {
      group.images.emplace_back();
      if (levels[i] != present || next >= static_cast<std::size_t>(read)) continue;
      const std::int32_t index = indices[next++];
      if (dictionary == nullptr || index < 0 || index >= length) {
        throw Error(ErrorKind::kInput, "an index of " + std::to_string(index) + " into a dictionary of " +
                                           std::to_string(length) + " entries");
      }
      std::span<const std::uint8_t>& entry = entries[static_cast<std::size_t>(index)];
      if (entry.data() == nullptr) entry = room.keep(dictionary[index]);
      group.images.back() = entry;
    }
  }
  if (group.images.size() == rows) return;
  throw Error(ErrorKind::kInput, "column " + reader.descr()->path()->ToDotString() + " has " +
                                     std::to_string(group.images.size()) + " values, expected " + std::to_string(rows));
}

template <class Type>
void read_numbers(parquet::ColumnReader& column, std::uint64_t rows, RowGroup& group) {
  for_each_row<Type>(column, rows, [&](std::uint64_t, const typename Type::c_type* value) {
    group.labels.push_back(value == nullptr ? -1 : static_cast<std::int64_t>(*value));
  });
}

void read_names(parquet::ColumnReader& column, std::uint64_t rows, RowGroup& group) {
  for_each_row<parquet::ByteArrayType>(column, rows, [&](std::uint64_t, const parquet::ByteArray* value) {
    if (value != nullptr && value->len > kMaxClassNameBytes) {
      throw Error(ErrorKind::kInput, "column " + column.descr()->path()->ToDotString() + " has a text of " +
                                         std::to_string(value->len) + " bytes, which is no class name");
    }
    group.label_names.emplace_back(
        value == nullptr ? "" : std::string(reinterpret_cast<const char*>(value->ptr), value->len));
  });
}

class ArrowFile final : public ParquetFile {
 public:
  ArrowFile(std::shared_ptr<const ByteSource> source, const std::string& image, const std::string& label)
      : source_(std::move(source)) {
    try {
      read_footer();
      choose(image, label);
      for (int number = 0; number < metadata_->num_row_groups(); ++number) list_group(number);
      check_rows();
    } catch (const Error& error) {
      throw Error(error.kind(), "open parquet " + name() + ": " + error.what());
    } catch (const parquet::ParquetException& error) {
      throw Error(ErrorKind::kInput, "open parquet " + name() + ": the footer is damaged: " + error.what());
    }
  }

  [[nodiscard]] const std::string& name() const noexcept override { return source_->name(); }
  [[nodiscard]] const std::vector<ParquetGroup>& groups() const noexcept override { return groups_; }
  [[nodiscard]] const ChosenColumns& columns() const noexcept override { return columns_; }
  [[nodiscard]] RowGroup decode(std::size_t group) const override { return decode(group, true); }
  [[nodiscard]] RowGroup decode_labels(std::size_t group) const override { return decode(group, false); }

 private:
  struct Chunks {
    Chunk image, label;
  };

  void read_footer();
  void choose(const std::string& image, const std::string& label);
  void list_group(int number);
  void check_rows() const;
  [[nodiscard]] Chunk chunk_of(const parquet::ColumnChunkMetaData& column, std::uint64_t rows) const;
  [[nodiscard]] RowGroup decode(std::size_t number, bool with_images) const;
  void check_chunks(std::size_t number) const;
  void read_columns(std::size_t number, bool with_images, const std::shared_ptr<SourceFile>& file,
                    arrow::MemoryPool& pool, RowGroup& group) const;
  void read_images(parquet::RowGroupReader& reader, std::size_t number, RowGroup& group) const;
  void read_labels(parquet::RowGroupReader& reader, std::uint64_t rows, RowGroup& group) const;

  std::shared_ptr<const ByteSource> source_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  ChosenColumns columns_;
  std::vector<ParquetGroup> groups_;
  std::vector<Chunks> chunks_;
};

// Every length is checked before it is used; what Thrift may allocate for lists and texts is bounded by the footer.
void ArrowFile::read_footer() {
  const std::uint64_t size = source_->size();
  if (size < kLeastBytes) throw Error(ErrorKind::kInput, "a file of " + std::to_string(size) + " bytes is no Parquet");
  std::vector<std::uint8_t> tail(static_cast<std::size_t>(std::min(size, kFirstTailBytes)));
  source_->read(size - tail.size(), tail);
  const std::string_view magic(reinterpret_cast<const char*>(tail.data()) + tail.size() - 4, 4);
  if (magic == "PARE") throw Error(ErrorKind::kInput, "its footer is encrypted, which is not supported");
  if (magic != "PAR1") {
    throw Error(ErrorKind::kInput, "it does not end with PAR1: cut off, or still being written");
  }
  const std::uint64_t length = load_little<std::uint32_t>(tail.data() + tail.size() - kTrailerBytes);
  if (length > size - kLeastBytes || length > kMaxFooterBytes) {
    throw Error(ErrorKind::kInput, "its last bytes tell of a footer of " + std::to_string(length) +
                                       " bytes, but the file has " + std::to_string(size));
  }
  if (length + kTrailerBytes > tail.size()) {
    tail.resize(static_cast<std::size_t>(length + kTrailerBytes));
    source_->read(size - tail.size(), tail);
  }
  parquet::ReaderProperties properties;
  const auto most = static_cast<std::int32_t>(std::max<std::uint64_t>(length, 1));
  properties.set_thrift_string_size_limit(std::min(most, properties.thrift_string_size_limit()));
  properties.set_thrift_container_size_limit(std::min(most, properties.thrift_container_size_limit()));
  metadata_ = parquet::FileMetaData::Make(tail.data() + tail.size() - kTrailerBytes - length,
                                          static_cast<std::int64_t>(length), properties);
}

void ArrowFile::choose(const std::string& image, const std::string& label) {
  std::vector<ParquetLeaf> leaves;
  for (int i = 0; i < metadata_->num_columns(); ++i) leaves.push_back(leaf_of(*metadata_->schema()->Column(i)));
  HuggingFaceFeatures features;
  if (const auto& pairs = metadata_->key_value_metadata()) {
    const int at = pairs->FindKey("huggingface");
    if (at >= 0) features = parse_huggingface(pairs->value(at));
  }
  columns_ = choose_columns(leaves, features, image, label);
}

Chunk ArrowFile::chunk_of(const parquet::ColumnChunkMetaData& column, std::uint64_t rows) const {
  const std::string which = "the chunk of column " + column.path_in_schema()->ToDotString();
  if (!column.file_path().empty()) {
    throw Error(ErrorKind::kInput, which + " lies in another file, " + column.file_path() + ", which is not supported");
  }
  if (column.num_values() < 0 || static_cast<std::uint64_t>(column.num_values()) != rows) {
    throw Error(ErrorKind::kInput,
                which + " has " + std::to_string(column.num_values()) + " values, expected " + std::to_string(rows));
  }
  std::int64_t begin = column.data_page_offset();
  if (column.has_dictionary_page() && column.dictionary_page_offset() > 0) {
    begin = std::min(begin, column.dictionary_page_offset());
  }
  const std::int64_t bytes = column.total_compressed_size();
  const auto size = static_cast<std::int64_t>(source_->size());
  if (begin < 0 || bytes < 0 || begin > size || bytes > size - begin) {
    throw Error(ErrorKind::kInput, which + " is said to be " + std::to_string(bytes) + " bytes at offset " +
                                       std::to_string(begin) + ", but the file has " + std::to_string(size));
  }
  return {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(bytes)};
}

// The largest label by the statistics; nothing where they do not tell.
std::optional<std::int64_t> largest_by_statistics(const parquet::ColumnChunkMetaData& column) {
  const std::shared_ptr<parquet::Statistics> statistics = column.is_stats_set() ? column.statistics() : nullptr;
  if (statistics == nullptr || !statistics->HasMinMax()) return std::nullopt;
  switch (statistics->physical_type()) {
    case parquet::Type::INT32: return static_cast<const parquet::Int32Statistics&>(*statistics).max();
    case parquet::Type::INT64: return static_cast<const parquet::Int64Statistics&>(*statistics).max();
    default: return std::nullopt;
  }
}

void ArrowFile::list_group(int number) {
  try {
    const std::unique_ptr<parquet::RowGroupMetaData> row_group = metadata_->RowGroup(number);
    ParquetGroup group;
    if (row_group->num_rows() < 0 || static_cast<std::uint64_t>(row_group->num_rows()) > kMaxGroupRows) {
      throw Error(ErrorKind::kInput, "it is said to have " + std::to_string(row_group->num_rows()) +
                                         " rows, expected at most " + std::to_string(kMaxGroupRows));
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
    throw Error(error.kind(), "row group " + std::to_string(number) + ": " + error.what());
  }
}

void ArrowFile::check_rows() const {
  std::uint64_t rows = 0;
  for (const ParquetGroup& group : groups_) rows += group.rows;
  if (metadata_->num_rows() >= 0 && static_cast<std::uint64_t>(metadata_->num_rows()) == rows) return;
  throw Error(ErrorKind::kInput, "it is said to have " + std::to_string(metadata_->num_rows()) +
                                     " rows, but its row groups have " + std::to_string(rows));
}

RowGroup ArrowFile::decode(std::size_t number, bool with_images) const {
  const std::string where = "read " + name() + " row group " + std::to_string(number) + ": ";
  const auto file = std::make_shared<SourceFile>(*source_);
  arrow::CappedMemoryPool pool(arrow::default_memory_pool(),
                               static_cast<std::int64_t>(decoded_limit(groups_[number].stored_bytes)));
  RowGroup group;
  try {
    read_columns(number, with_images, file, pool, group);
    check_chunks(number);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInput) check_chunks(number);  // zeros of a lost page look like damage
    throw Error(error.kind(), where + error.what());
  } catch (const parquet::ParquetException& error) {
    check_chunks(number);
    if (file->failure()) {
      try {
        std::rethrow_exception(file->failure());
      } catch (const Error& cause) {
        throw Error(cause.kind(), where + cause.what());
      }
    }
    throw Error(ErrorKind::kInput, where + "damaged: " + error.what());
  }
  return group;
}

// What was made of pages that the file no longer has is not the file's.
void ArrowFile::check_chunks(std::size_t number) const {
  const std::span<const std::uint8_t> mapped = source_->mapped();
  if (mapped.empty()) return;
  for (const Chunk& chunk : {chunks_[number].image, chunks_[number].label})
    check_map(mapped.data() + chunk.offset, static_cast<std::size_t>(chunk.bytes));
}

// Each call has readers of its own: opening them over a parsed footer costs microseconds.
void ArrowFile::read_columns(std::size_t number, bool with_images, const std::shared_ptr<SourceFile>& file,
                             arrow::MemoryPool& pool, RowGroup& group) const {
  const std::uint64_t rows = groups_[number].rows;
  parquet::ReaderProperties properties(&pool);
  properties.set_page_checksum_verification(true);
  std::vector<Chunk> wanted;
  if (with_images) wanted.push_back(chunks_[number].image);
  if (columns_.label >= 0) wanted.push_back(chunks_[number].label);
  file->fetch(wanted);
  const auto reader = parquet::ParquetFileReader::Open(file, properties, metadata_);
  const auto row_group = reader->RowGroup(static_cast<int>(number));
  if (columns_.label >= 0) read_labels(*row_group, rows, group);
  if (with_images) read_images(*row_group, number, group);
}

void ArrowFile::read_images(parquet::RowGroupReader& reader, std::size_t number, RowGroup& group) const {
  const ParquetGroup& facts = groups_[number];
  ImageRoom room(group, source_->mapped(), facts.decoded_bytes, decoded_limit(chunks_[number].image.bytes));
  group.images.reserve(static_cast<std::size_t>(facts.rows));
  const auto column = reader.ColumnWithExposeEncoding(columns_.image, parquet::ExposedEncoding::DICTIONARY);
  if (column->GetExposedEncoding() == parquet::ExposedEncoding::DICTIONARY) {
    return read_dictionary_images(static_cast<parquet::ByteArrayReader&>(*column), facts.rows, group, room);
  }
  for_each_row<parquet::ByteArrayType>(*column, facts.rows, [&](std::uint64_t, const parquet::ByteArray* value) {
    group.images.push_back(value == nullptr ? std::span<const std::uint8_t>() : room.keep(*value));
  });
}

void ArrowFile::read_labels(parquet::RowGroupReader& reader, std::uint64_t rows, RowGroup& group) const {
  const auto column = reader.Column(columns_.label);
  switch (column->type()) {
    case parquet::Type::BOOLEAN: return read_numbers<parquet::BooleanType>(*column, rows, group);
    case parquet::Type::INT32: return read_numbers<parquet::Int32Type>(*column, rows, group);
    case parquet::Type::INT64: return read_numbers<parquet::Int64Type>(*column, rows, group);
    default: return read_names(*column, rows, group);
  }
}

}  // namespace

std::unique_ptr<const ParquetFile> open_parquet_file(std::shared_ptr<const ByteSource> source, const std::string& image,
                                                     const std::string& label) {
  return std::make_unique<ArrowFile>(std::move(source), image, label);
}

std::string arrow_version() { return arrow::GetBuildInfo().version_string; }

}  // namespace unstarve
