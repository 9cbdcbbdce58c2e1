#include "unstarve/storage/formats/parquet/arrow_columns.h"

#include <parquet/statistics.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

constexpr std::int64_t kBatchRows = 4096;
constexpr std::size_t kBlockBytes = std::size_t{16} << 20;

// Address of empty values; nullptr means that the row has no value.
constexpr std::uint8_t kNoByte = 0;

// Reads one column of one row group: calls row(i, value) for each row; value is nullptr if the row has none.
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
    const std::int64_t needed = static_cast<std::int64_t>(std::min<std::uint64_t>(rows - done, batch));
    std::int64_t found = reader.ReadBatch(needed, present > 0 ? levels.data() : nullptr, nullptr, values.get(), &read);
    if (present == 0) found = read;
    if (found <= 0) break;
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < found; ++i) {
      const bool has_value = levels[static_cast<std::size_t>(i)] == present && next < read;
      row(done + static_cast<std::uint64_t>(i), has_value ? &values[static_cast<std::size_t>(next++)] : nullptr);
    }
    done += static_cast<std::uint64_t>(found);
  }
  if (done == rows) return;
  throw input_error("column {} has {} values; expected {}", column.descr()->path()->ToDotString(), done, rows);
}

void read_dictionary_images(parquet::ByteArrayReader& reader, std::uint64_t rows, RowGroup& group, ImageStore& store) {
  const std::int16_t present = reader.descr()->max_definition_level();
  const auto batch = static_cast<std::size_t>(std::min<std::uint64_t>(rows, kBatchRows));
  std::vector<std::int16_t> levels(batch, present);
  std::vector<std::int32_t> indices(batch);
  std::vector<std::span<const std::uint8_t>> entries;
  while (group.images.size() < rows && reader.HasNext()) {
    const parquet::ByteArray* dictionary = nullptr;
    std::int32_t length = 0;
    std::int64_t read = 0;
    const auto needed = static_cast<std::int64_t>(std::min<std::uint64_t>(rows - group.images.size(), batch));
    std::int64_t found = reader.ReadBatchWithDictionary(needed, present > 0 ? levels.data() : nullptr, nullptr,
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
        throw input_error("dictionary index {} is out of range: {} entries", index, length);
      }
      std::span<const std::uint8_t>& entry = entries[static_cast<std::size_t>(index)];
      if (entry.data() == nullptr) entry = store.add(dictionary[index]);
      group.images.back() = entry;
    }
  }
  if (group.images.size() == rows) return;
  throw input_error("column {} has {} values; expected {}", reader.descr()->path()->ToDotString(), group.images.size(),
                    rows);
}

template <class Type>
void read_numbers(parquet::ColumnReader& column, std::uint64_t rows, RowGroup& group) {
  for_each_row<Type>(column, rows, [&](std::uint64_t, const typename Type::c_type* value) {
    group.labels.push_back(value == nullptr ? kNullLabel : static_cast<std::int64_t>(*value));
  });
}

void read_names(parquet::ColumnReader& column, std::uint64_t rows, RowGroup& group) {
  for_each_row<parquet::ByteArrayType>(column, rows, [&](std::uint64_t, const parquet::ByteArray* value) {
    if (value != nullptr && value->len > kMaxNameBytes) {
      throw input_error("column {} has a string of {} bytes; expected a class name of at most {}",
                        column.descr()->path()->ToDotString(), value->len, kMaxNameBytes);
    }
    group.label_names.emplace_back(
        value == nullptr ? "" : std::string(reinterpret_cast<const char*>(value->ptr), value->len));
  });
}

}  // namespace

std::span<const std::uint8_t> ImageStore::add(const parquet::ByteArray& value) {
  const std::less_equal<> before;
  if (value.len == 0) return {&kNoByte, 0};
  if (!mapped_.empty() && before(mapped_.data(), value.ptr) &&
      before(value.ptr + value.len, mapped_.data() + mapped_.size())) {
    return {value.ptr, value.len};
  }
  std::uint8_t* const copy = allocate(value.len);
  std::memcpy(copy, value.ptr, value.len);
  return {copy, value.len};
}

std::uint8_t* ImageStore::allocate(std::size_t bytes) {
  if (bytes > left_) {
    const auto rest = static_cast<std::size_t>(expected_ > used_ ? expected_ - used_ : 0);
    const std::size_t block = std::max(bytes, std::min(kBlockBytes, rest));
    if (block > limit_ - std::min(limit_, group_.block_bytes)) {
      throw input_error("the images take more than {} bytes", limit_);
    }
    group_.blocks.emplace_back(block);
    group_.block_bytes += group_.blocks.back().capacity();
    next_ = group_.blocks.back().data();
    left_ = block;
  }
  left_ -= bytes;
  used_ += bytes;
  return std::exchange(next_, next_ + bytes);
}

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
  const auto& annotation = column.logical_type();
  leaf.text = annotation != nullptr && (annotation->is_string() || annotation->is_enum() || annotation->is_JSON());
  return leaf;
}

std::optional<std::int64_t> largest_by_statistics(const parquet::ColumnChunkMetaData& column) {
  const std::shared_ptr<parquet::Statistics> statistics = column.is_stats_set() ? column.statistics() : nullptr;
  if (statistics == nullptr || !statistics->HasMinMax()) return std::nullopt;
  switch (statistics->physical_type()) {
    case parquet::Type::INT32: return static_cast<const parquet::Int32Statistics&>(*statistics).max();
    case parquet::Type::INT64: return static_cast<const parquet::Int64Statistics&>(*statistics).max();
    default: return std::nullopt;
  }
}

void read_images(parquet::ColumnReader& column, std::uint64_t rows, RowGroup& group, ImageStore& store) {
  group.images.reserve(static_cast<std::size_t>(rows));
  auto& reader = static_cast<parquet::ByteArrayReader&>(column);
  if (reader.GetExposedEncoding() == parquet::ExposedEncoding::DICTIONARY) {
    return read_dictionary_images(reader, rows, group, store);
  }
  for_each_row<parquet::ByteArrayType>(column, rows, [&](std::uint64_t, const parquet::ByteArray* value) {
    group.images.push_back(value == nullptr ? std::span<const std::uint8_t>() : store.add(*value));
  });
}

void read_labels(parquet::ColumnReader& column, std::uint64_t rows, RowGroup& group) {
  switch (column.type()) {
    case parquet::Type::BOOLEAN: return read_numbers<parquet::BooleanType>(column, rows, group);
    case parquet::Type::INT32: return read_numbers<parquet::Int32Type>(column, rows, group);
    case parquet::Type::INT64: return read_numbers<parquet::Int64Type>(column, rows, group);
    default: return read_names(column, rows, group);
  }
}

}  // namespace unstarve
