// ParquetFile of an Arrow IPC stream or file, based on Arrow C++. A record batch is a row group.
//
//   stream:  | message: schema | message: record batch | ... | end |
//   file:    | ARROW1 + 2 | the same | footer |                              the footer is not read
//   message: | 0xffffffff | length of the metadata | metadata (flatbuffers) | body of the length in the metadata |
//
// A dictionary-encoded label column (a category of pandas) has dictionary batches with its values before the record
// batches, which contain indices into them; later dictionary batches replace or extend them.
//
// Opening reads the metadata of every message, and the dictionaries of the label column. Only arrow_*.cpp include Arrow
// headers.
#include <arrow/array.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/exception.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/formats/parquet/arrow_columns.h"
#include "unstarve/storage/formats/parquet/arrow_decode.h"
#include "unstarve/storage/formats/parquet/arrow_module.h"
#include "unstarve/storage/formats/parquet/arrow_source.h"
#include "unstarve/storage/formats/parquet/parquet_file.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kPrefixBytes = 8;     // 0xffffffff, length of the metadata
constexpr std::uint64_t kFileMagicBytes = 8;  // ARROW1, padded
constexpr std::uint64_t kFirstBytes = 4096;   // contains the metadata of most record batches
constexpr std::int32_t kMaxMetadataBytes = 64 << 20;

// A column, or a field of a column that is a struct.
struct IpcLeaf {
  int field = 0;
  int child = -1;
  [[nodiscard]] std::shared_ptr<arrow::Array> values(const arrow::Array& column) const {
    return child < 0 ? nullptr : static_cast<const arrow::StructArray&>(column).field(child);
  }
};

const arrow::DictionaryType& as_dictionary(const arrow::DataType& type) {
  return static_cast<const arrow::DictionaryType&>(type);
}

ParquetLeaf leaf_of(const std::string& path, const arrow::DataType& type) {
  ParquetLeaf leaf{path, LeafType::kOther, type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST,
                   type.ToString()};
  switch (type.id()) {
    case arrow::Type::BINARY:
    case arrow::Type::STRING:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::STRING_VIEW: leaf.type = LeafType::kBytes; break;
    default: leaf.type = arrow::is_integer(type.id()) || type.id() == arrow::Type::BOOL ? LeafType::kWhole : leaf.type;
  }
  leaf.text = type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING ||
              type.id() == arrow::Type::STRING_VIEW;
  return leaf;
}

// Calls use(i, text) for each row; text.data() is null if the row has none. Precondition: leaf_of() is kBytes.
template <class Array, class Use>
void each_text_of(const arrow::Array& values, const Use& use) {
  const auto& array = static_cast<const Array&>(values);
  for (std::int64_t i = 0; i < array.length(); ++i)
    use(i, array.IsNull(i) ? std::string_view() : std::string_view(array.GetView(i)));
}

template <class Use>
void each_text(const arrow::Array& values, const Use& use) {
  switch (values.type_id()) {
    case arrow::Type::BINARY: return each_text_of<arrow::BinaryArray>(values, use);
    case arrow::Type::STRING: return each_text_of<arrow::StringArray>(values, use);
    case arrow::Type::LARGE_BINARY: return each_text_of<arrow::LargeBinaryArray>(values, use);
    case arrow::Type::LARGE_STRING: return each_text_of<arrow::LargeStringArray>(values, use);
    case arrow::Type::BINARY_VIEW: return each_text_of<arrow::BinaryViewArray>(values, use);
    default: return each_text_of<arrow::StringViewArray>(values, use);
  }
}

template <class Array>
void read_numbers_of(const arrow::Array& values, RowGroup& group) {
  const auto& array = static_cast<const Array&>(values);
  for (std::int64_t i = 0; i < array.length(); ++i)
    group.labels.push_back(array.IsNull(i) ? kNullLabel : static_cast<std::int64_t>(array.Value(i)));
}

void read_labels_of(const arrow::Array& values, RowGroup& group) {
  switch (values.type_id()) {
    case arrow::Type::BOOL: return read_numbers_of<arrow::BooleanArray>(values, group);
    case arrow::Type::INT8: return read_numbers_of<arrow::Int8Array>(values, group);
    case arrow::Type::UINT8: return read_numbers_of<arrow::UInt8Array>(values, group);
    case arrow::Type::INT16: return read_numbers_of<arrow::Int16Array>(values, group);
    case arrow::Type::UINT16: return read_numbers_of<arrow::UInt16Array>(values, group);
    case arrow::Type::INT32: return read_numbers_of<arrow::Int32Array>(values, group);
    case arrow::Type::UINT32: return read_numbers_of<arrow::UInt32Array>(values, group);
    case arrow::Type::INT64: return read_numbers_of<arrow::Int64Array>(values, group);
    case arrow::Type::UINT64: return read_numbers_of<arrow::UInt64Array>(values, group);
    default:
      each_text(values, [&](std::int64_t, std::string_view text) {
        if (text.size() > kMaxNameBytes)
          throw input_error("a label of {} bytes; expected a class name of at most {}", text.size(), kMaxNameBytes);
        group.label_names.emplace_back(text);
      });
  }
}

// Replaces the indices that read_labels_of() has added to `group` by the labels that they refer to.
void look_up_labels(const RowGroup& values, RowGroup& group) {
  const std::vector<std::int64_t> indices = std::exchange(group.labels, {});
  const std::size_t count = values.labels.size() + values.label_names.size();  // one of them is empty
  for (const std::int64_t index : indices) {
    if (index != kNullLabel && (index < 0 || static_cast<std::uint64_t>(index) >= count))
      throw input_error("a label refers to entry {} of its dictionary, which has {}", index, count);
    const auto at = static_cast<std::size_t>(index);
    if (!values.label_names.empty()) {
      group.label_names.push_back(index == kNullLabel ? "" : values.label_names[at]);
    } else {
      group.labels.push_back(index == kNullLabel ? kNullLabel : values.labels[at]);
    }
  }
}

// The field `length` of the table RecordBatch (Message.fbs of Arrow), 0 if it is absent. Message::Open() has verified
// the table: its offset to the vtable, which holds the offsets of the fields; `length` is the first.
std::int64_t rows_of(const arrow::ipc::Message& message) {
  const auto* const table = static_cast<const std::uint8_t*>(message.header());
  if (table == nullptr) throw input_error("a record batch without its description");
  const std::uint8_t* const vtable = table - load_little<std::int32_t>(table);
  constexpr std::size_t kField = 4;
  const auto vtable_bytes = load_little<std::uint16_t>(vtable);
  const std::uint16_t offset = vtable_bytes > kField ? load_little<std::uint16_t>(vtable + kField) : 0;
  return offset == 0 ? 0 : load_little<std::int64_t>(table + offset);
}

// Gives messages to Arrow's reader of streams: a list of functions that make them, each called once.
class MessageList final : public arrow::ipc::MessageReader {
 public:
  using Make = std::function<arrow::Result<std::unique_ptr<arrow::ipc::Message>>()>;
  void add(Make make) { list_.push_back(std::move(make)); }
  arrow::Result<std::unique_ptr<arrow::ipc::Message>> ReadNextMessage() override {
    if (next_ == list_.size()) return std::unique_ptr<arrow::ipc::Message>();
    return list_[next_++]();
  }

 private:
  std::vector<Make> list_;
  std::size_t next_ = 0;
};

class IpcFile final : public ParquetFile {
 public:
  IpcFile(ParquetSource source, const std::string& image, const std::string& label)
      : ParquetFile(std::move(source.bytes)), check_map_(source.check_map) {
    try {
      list_messages();
      choose(image, label);
    } catch (const Error& error) {
      throw Error(error.kind(), "open arrow " + name() + ": " + error.what());
    } catch (const parquet::ParquetException& error) {
      throw input_error("open arrow {}: damaged: {}", name(), error.what());
    }
  }

  [[nodiscard]] RowGroup decode(std::size_t number, bool with_images) const override;

 private:
  struct Batch {
    std::shared_ptr<arrow::Buffer> metadata;
    Chunk body;
    std::size_t dictionaries = 0;  // messages of dictionaries before this batch
  };

  void list_messages();
  [[nodiscard]] std::shared_ptr<arrow::Buffer> metadata_at(std::uint64_t offset) const;
  void add(const arrow::ipc::Message& message, Batch batch);
  void choose(const std::string& image, const std::string& label);
  void read_dictionaries();
  [[nodiscard]] const RowGroup& label_values(const Batch& batch) const { return label_values_.at(batch.dictionaries); }
  void read_batch(std::size_t number, bool with_images, SourceFile& file, arrow::MemoryPool& pool,
                  RowGroup& group) const;

  CheckMap check_map_;
  bool footer_ = false;  // a file, not a stream
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::Buffer> schema_message_;
  arrow::ipc::DictionaryMemo no_dictionaries_;  // Arrow reads indices only: schema_ has the type of the indices
  IpcLeaf image_, label_;
  std::vector<Batch> batches_, dictionaries_;
  std::map<std::size_t, RowGroup> label_values_;  // by Batch::dictionaries; empty if the labels are not encoded
};

// Returns the metadata of the message at `offset`, null at the end of the stream.
std::shared_ptr<arrow::Buffer> IpcFile::metadata_at(std::uint64_t offset) const {
  const std::uint64_t rest = source_->size() - offset;
  if (rest == 0 && !footer_) return nullptr;  // a stream may end without an end marker
  if (rest < kPrefixBytes) {
    throw input_error("the stream has no end marker at offset {}: truncated, or still being written", offset);
  }
  std::vector<std::uint8_t> front(static_cast<std::size_t>(std::min(rest, kFirstBytes)));
  source_->read(offset, front);
  const auto length = load_little<std::int32_t>(front.data() + 4);
  if (load_little<std::uint32_t>(front.data()) != 0xffffffffU || length < 0 || length > kMaxMetadataBytes ||
      length % 8 != 0 || static_cast<std::uint64_t>(length) > rest - kPrefixBytes) {
    throw input_error("no message at offset {}: damaged or truncated", offset);
  }
  if (length == 0) return nullptr;
  PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> metadata, arrow::AllocateBuffer(length));
  const std::span<std::uint8_t> out(metadata->mutable_data(), static_cast<std::size_t>(length));
  const std::size_t known = std::min(out.size(), front.size() - kPrefixBytes);
  std::copy_n(front.begin() + kPrefixBytes, known, out.begin());
  if (known < out.size()) source_->read(offset + kPrefixBytes + known, out.subspan(known));
  return metadata;
}

void IpcFile::list_messages() {
  std::vector<std::uint8_t> magic(std::min<std::size_t>(source_->size(), 6));
  source_->read(0, magic);
  footer_ = as_text(magic) == "ARROW1";
  std::uint64_t offset = footer_ ? kFileMagicBytes : 0;
  while (const std::shared_ptr<arrow::Buffer> metadata = metadata_at(std::min(offset, source_->size()))) {
    PARQUET_ASSIGN_OR_THROW(const auto message, arrow::ipc::Message::Open(metadata, nullptr));
    const std::uint64_t begin = offset + kPrefixBytes + static_cast<std::uint64_t>(metadata->size());
    const std::int64_t bytes = message->body_length();
    if (bytes < 0 || bytes % 8 != 0 || static_cast<std::uint64_t>(bytes) > source_->size() - begin) {
      throw input_error("the message at offset {} declares {} bytes, the file has {}: truncated or damaged", offset,
                        bytes, source_->size() - begin);
    }
    add(*message, {metadata, {begin, static_cast<std::uint64_t>(bytes)}});
    offset = begin + static_cast<std::uint64_t>(bytes);
  }
  if (schema_ == nullptr) throw input_error("the stream has no schema");
  if (offset == source_->size())
    note_ = fmt::format("{}: the stream has no end marker; it may have been cut after record batch {}", name(),
                        groups_.size());
}

void IpcFile::add(const arrow::ipc::Message& message, Batch batch) {
  if (message.type() == arrow::ipc::MessageType::SCHEMA && schema_ == nullptr) {
    arrow::ipc::DictionaryMemo unused;
    schema_message_ = batch.metadata;
    PARQUET_ASSIGN_OR_THROW(schema_, arrow::ipc::ReadSchema(message, &unused));
    if (!schema_->is_native_endian())
      throw input_error("the numbers have the byte order of another machine, which is not supported");
  } else if (message.type() == arrow::ipc::MessageType::RECORD_BATCH && schema_ != nullptr) {
    ParquetGroup group;
    const std::int64_t rows = rows_of(message);
    if (rows < 0 || static_cast<std::uint64_t>(rows) > kMaxGroupRows) {
      throw input_error("record batch {} declares {} rows; expected at most {}", groups_.size(), rows, kMaxGroupRows);
    }
    group.rows = static_cast<std::uint64_t>(rows);
    group.stored_bytes = batch.body.bytes;
    if (source_->mapped().empty()) group.decoded_bytes = batch.body.bytes;
    batch.dictionaries = dictionaries_.size();
    groups_.push_back(group);
    batches_.push_back(std::move(batch));
  } else if (message.type() == arrow::ipc::MessageType::DICTIONARY_BATCH) {
    dictionaries_.push_back(std::move(batch));
  } else {
    throw input_error("an unexpected message of type {}", arrow::ipc::FormatMessageType(message.type()));
  }
}

void IpcFile::choose(const std::string& image, const std::string& label) {
  std::vector<ParquetLeaf> leaves;
  std::vector<IpcLeaf> fields;
  for (int i = 0; i < schema_->num_fields(); ++i) {
    const arrow::Field& field = *schema_->field(i);
    if (field.type()->id() != arrow::Type::STRUCT) {
      const bool encoded = field.type()->id() == arrow::Type::DICTIONARY;
      leaves.push_back(leaf_of(field.name(), encoded ? *as_dictionary(*field.type()).value_type() : *field.type()));
      leaves.back().encoded = encoded;
      fields.push_back({i, -1});
      continue;
    }
    for (int child = 0; child < field.type()->num_fields(); ++child) {
      const arrow::Field& part = *field.type()->field(child);
      leaves.push_back(leaf_of(field.name() + "." + part.name(), *part.type()));
      fields.push_back({i, child});
    }
  }
  HuggingFaceFeatures features;
  const auto& pairs = schema_->metadata();
  const int index = pairs == nullptr ? -1 : pairs->FindKey("huggingface");
  if (index >= 0) features = parse_huggingface(pairs->value(index));
  columns_ = choose_columns(leaves, features, image, label);
  image_ = fields[static_cast<std::size_t>(columns_.image)];
  if (columns_.label < 0) return;
  label_ = fields[static_cast<std::size_t>(columns_.label)];
  if (leaves[static_cast<std::size_t>(columns_.label)].encoded) read_dictionaries();
}

// Reads the values of the label column that belong to each record batch. An empty record batch, made here, makes Arrow
// decode the dictionaries before it.
void IpcFile::read_dictionaries() {
  SourceFile file(*source_);
  std::uint64_t bytes = 0;
  for (const Batch& dictionary : dictionaries_) bytes += dictionary.body.bytes;
  PARQUET_ASSIGN_OR_THROW(const auto empty, arrow::RecordBatch::MakeEmpty(schema_));
  PARQUET_ASSIGN_OR_THROW(const auto empty_message,
                          arrow::ipc::SerializeRecordBatch(*empty, arrow::ipc::IpcWriteOptions::Defaults()));
  const auto read = [&](arrow::MemoryPool& pool, RowGroup&) {
    auto messages = std::make_unique<MessageList>();
    messages->add([this] { return arrow::ipc::Message::Open(schema_message_, nullptr); });
    std::size_t added = 0;
    for (const Batch& batch : batches_) {
      if (!label_values_.try_emplace(batch.dictionaries).second) continue;
      for (; added < batch.dictionaries; ++added) {
        messages->add(
            [&file, &dictionary = dictionaries_[added]]() -> arrow::Result<std::unique_ptr<arrow::ipc::Message>> {
              ARROW_ASSIGN_OR_RAISE(auto body, file.ReadAt(static_cast<std::int64_t>(dictionary.body.offset),
                                                           static_cast<std::int64_t>(dictionary.body.bytes)));
              return arrow::ipc::Message::Open(dictionary.metadata, std::move(body));
            });
      }
      messages->add([&empty_message] {
        arrow::io::BufferReader reader(empty_message);
        return arrow::ipc::ReadMessage(&reader);
      });
    }
    arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = &pool;
    options.use_threads = false;
    options.included_fields = {label_.field};
    PARQUET_ASSIGN_OR_THROW(const auto reader, arrow::ipc::RecordBatchStreamReader::Open(std::move(messages), options));
    for (auto& [number, values] : label_values_) {
      std::shared_ptr<arrow::RecordBatch> batch;
      PARQUET_THROW_NOT_OK(reader->ReadNext(&batch));
      if (batch == nullptr) throw input_error("a dictionary of the label column is missing");
      const auto& column = static_cast<const arrow::DictionaryArray&>(*batch->column(0));
      PARQUET_THROW_NOT_OK(column.dictionary()->ValidateFull());
      read_labels_of(*column.dictionary(), values);
    }
  };
  (void)decode_group("the dictionary of the labels: ", file, bytes, read, [&] {
    const std::span<const std::uint8_t> mapped = source_->mapped();
    for (const Batch& dictionary : dictionaries_)
      if (!mapped.empty()) check_map_(mapped.data() + dictionary.body.offset, dictionary.body.bytes);
  });
  const std::shared_ptr<arrow::Field>& field = schema_->field(label_.field);
  PARQUET_ASSIGN_OR_THROW(schema_,
                          schema_->SetField(label_.field, field->WithType(as_dictionary(*field->type()).index_type())));
}

RowGroup IpcFile::decode(std::size_t number, bool with_images) const {
  const Chunk& body = batches_[number].body;
  SourceFile file(*source_, body);
  return decode_group(
      fmt::format("read {} record batch {}: ", name(), number), file, body.bytes,
      [&](arrow::MemoryPool& pool, RowGroup& group) { read_batch(number, with_images, file, pool, group); },
      [&] {
        const std::span<const std::uint8_t> mapped = source_->mapped();
        if (!mapped.empty()) check_map_(mapped.data() + body.offset, static_cast<std::size_t>(body.bytes));
      });
}

void IpcFile::read_batch(std::size_t number, bool with_images, SourceFile& file, arrow::MemoryPool& pool,
                         RowGroup& group) const {
  const bool with_labels = columns_.label >= 0;
  arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = &pool;
  options.use_threads = false;
  if (with_labels) options.included_fields.push_back(label_.field);
  if (with_images) {
    options.included_fields.push_back(image_.field);
    file.fetch(std::vector<Chunk>{{0, batches_[number].body.bytes}});
  }
  if (options.included_fields.empty()) return;
  PARQUET_ASSIGN_OR_THROW(
      const std::shared_ptr<arrow::RecordBatch> batch,
      arrow::ipc::ReadRecordBatch(*batches_[number].metadata, schema_, &no_dictionaries_, options, &file));
  PARQUET_THROW_NOT_OK(batch->Validate());
  const auto column_of = [&](const IpcLeaf& leaf) {
    const auto before = std::ranges::count_if(options.included_fields, [&](int field) { return field < leaf.field; });
    return batch->column(static_cast<int>(before));
  };
  // Precondition: Validate() has succeeded, so that a struct and its fields have equal lengths.
  const auto values_of = [&](const IpcLeaf& leaf, const arrow::Array& column) {
    std::shared_ptr<arrow::Array> values = leaf.values(column);
    PARQUET_THROW_NOT_OK((values ? *values : column).ValidateFull());
    return values;
  };
  if (with_labels) {
    const std::shared_ptr<arrow::Array> column = column_of(label_);
    const std::shared_ptr<arrow::Array> inside = values_of(label_, *column);
    read_labels_of(inside ? *inside : *column, group);
    if (!label_values_.empty()) look_up_labels(label_values(batches_[number]), group);
  }
  if (!with_images) return;
  const std::shared_ptr<arrow::Array> column = column_of(image_);
  const std::shared_ptr<arrow::Array> inside = values_of(image_, *column);
  ImageStore store(group, source_->mapped(), groups_[number].decoded_bytes, decoded_limit(batches_[number].body.bytes));
  group.images.reserve(static_cast<std::size_t>(groups_[number].rows));
  each_text(inside ? *inside : *column, [&](std::int64_t i, std::string_view image) {
    if (image.data() == nullptr || column->IsNull(i)) {
      group.images.emplace_back();
      return;
    }
    if (image.size() > kMaxRecordBytes)
      throw input_error("row {} has an image of {} bytes; expected at most {}", i, image.size(), kMaxRecordBytes);
    group.images.push_back(store.add(parquet::ByteArray(static_cast<std::uint32_t>(image.size()),
                                                        reinterpret_cast<const std::uint8_t*>(image.data()))));
  });
}

}  // namespace

std::unique_ptr<const ParquetFile> open_arrow_ipc(ParquetSource source, const std::string& image,
                                                  const std::string& label) {
  return std::make_unique<IpcFile>(std::move(source), image, label);
}

}  // namespace unstarve
