// ParquetWriter and TableWriter based on Arrow C++.
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/column_writer.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <nlohmann/json.hpp>

#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/formats/parquet/arrow_module.h"
#include "unstarve/storage/formats/parquet/parquet_writer.h"

namespace unstarve {
namespace {

// Adapts a ByteSink to Arrow's OutputStream. An Error of the sink is stored in failure() and returned as IOError. After
// abandon() nothing is written: Arrow's writer would otherwise append a footer to a failed shard.
class SinkStream final : public arrow::io::OutputStream {
 public:
  explicit SinkStream(ByteSink& sink) : sink_(sink) {}

  void abandon() { abandoned_ = true; }
  [[nodiscard]] const std::exception_ptr& failure() const { return failure_; }

  using arrow::io::OutputStream::Write;
  arrow::Status Write(const void* data, std::int64_t bytes) override {
    if (abandoned_) return arrow::Status::Cancelled("the shard was abandoned");
    try {
      sink_.write({static_cast<const std::uint8_t*>(data), static_cast<std::size_t>(bytes)});
    } catch (const Error& error) {
      failure_ = std::current_exception();
      return arrow::Status::IOError(error.what());
    }
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return static_cast<std::int64_t>(sink_.position()); }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  [[nodiscard]] bool closed() const override { return closed_; }

 private:
  ByteSink& sink_;
  std::exception_ptr failure_;
  bool abandoned_ = false;
  bool closed_ = false;
};

std::shared_ptr<parquet::schema::GroupNode> make_schema() {
  using parquet::Repetition;
  using parquet::schema::GroupNode, parquet::schema::PrimitiveNode;
  const auto bytes = PrimitiveNode::Make("bytes", Repetition::OPTIONAL, parquet::Type::BYTE_ARRAY);
  const auto path =
      PrimitiveNode::Make("path", Repetition::OPTIONAL, parquet::LogicalType::String(), parquet::Type::BYTE_ARRAY);
  const auto image = GroupNode::Make("image", Repetition::OPTIONAL, {bytes, path});
  const auto label = PrimitiveNode::Make("label", Repetition::OPTIONAL, parquet::Type::INT64);
  return std::static_pointer_cast<GroupNode>(GroupNode::Make("schema", Repetition::REQUIRED, {image, label}));
}

std::shared_ptr<parquet::WriterProperties> make_properties() {
  parquet::WriterProperties::Builder builder;
  builder.compression(parquet::Compression::UNCOMPRESSED)->disable_dictionary()->enable_page_checksum();
  for (const char* column : {"image.bytes", "image.path"}) builder.disable_statistics(column);
  return builder.created_by("unstarve")->build();
}

std::shared_ptr<arrow::KeyValueMetadata> make_metadata(const std::vector<std::string>& classes) {
  const nlohmann::json label = classes.empty() ? nlohmann::json{{"dtype", "int64"}, {"_type", "Value"}}
                                               : nlohmann::json{{"names", classes}, {"_type", "ClassLabel"}};
  const nlohmann::json features = {{"image", {{"_type", "Image"}}}, {"label", label}};
  const nlohmann::json all = {{"info", {{"features", features}}}};
  // Invalid UTF-8 in a class name would make the whole JSON text invalid.
  return arrow::KeyValueMetadata::Make({"huggingface"}, {json_text(all)});
}

parquet::ByteArray as_bytes(std::string_view text) { return parquet::ByteArray(text); }

// Translates exceptions of Arrow to the exception of the sink, if any, or to an Error.
template <class Call>
void guarded(SinkStream& stream, const Call& call) {
  try {
    call();
  } catch (const parquet::ParquetException& error) {
    stream.abandon();
    if (stream.failure()) std::rethrow_exception(stream.failure());
    throw input_error("write Parquet: {}", error.what());
  }
}

class ParquetWriter final : public RecordWriter {
 public:
  ParquetWriter(ByteSink& sink, const std::vector<std::string>& classes, std::size_t group_rows)
      : classes_(classes.size()), group_rows_(group_rows), stream_(std::make_shared<SinkStream>(sink)) {
    guarded(*stream_, [&] {
      writer_ = parquet::ParquetFileWriter::Open(stream_, make_schema(), make_properties(), make_metadata(classes));
    });
  }
  ~ParquetWriter() override { stream_->abandon(); }
  ParquetWriter(const ParquetWriter&) = delete;
  ParquetWriter& operator=(const ParquetWriter&) = delete;

  void append(const OutRecord& record) override {
    if (classes_ > 0 && record.label >= static_cast<std::int64_t>(classes_)) {
      throw input_error("write Parquet: {} has label {}; expected one of {} classes", record.key, record.label,
                        classes_);
    }
    images_.insert(images_.end(), record.image.begin(), record.image.end());
    rows_.push_back({std::string(record.key), record.image.size(), record.label});
    if (images_.size() >= kRowGroupBytes || rows_.size() >= group_rows_) write_group();
  }

  void finish() override {
    if (!rows_.empty()) write_group();
    guarded(*stream_, [&] { writer_->Close(); });
  }

 private:
  struct Row {
    std::string key;
    std::size_t bytes;
    std::int64_t label;
  };

  void write_group() {
    guarded(*stream_, [&] {
      parquet::RowGroupWriter* const group = writer_->AppendRowGroup();
      write_images(*group);
      write_keys(*group);
      write_labels(*group);
      group->Close();
    });
    images_.clear();
    rows_.clear();
  }

  // Writes one value at a time, so that a page ends as soon as it is large enough.
  void write_images(parquet::RowGroupWriter& group) {
    auto& column = static_cast<parquet::ByteArrayWriter&>(*group.NextColumn());
    const std::int16_t present = column.descr()->max_definition_level();
    std::size_t offset = 0;
    for (const Row& row : rows_) {
      const parquet::ByteArray value = as_bytes({reinterpret_cast<const char*>(images_.data()) + offset, row.bytes});
      column.WriteBatch(1, &present, nullptr, &value);
      offset += row.bytes;
    }
    column.Close();
  }

  void write_keys(parquet::RowGroupWriter& group) {
    auto& column = static_cast<parquet::ByteArrayWriter&>(*group.NextColumn());
    const std::int16_t present = column.descr()->max_definition_level();
    for (const Row& row : rows_) {
      const parquet::ByteArray value = as_bytes(row.key);
      column.WriteBatch(1, &present, nullptr, &value);
    }
    column.Close();
  }

  void write_labels(parquet::RowGroupWriter& group) {
    auto& column = static_cast<parquet::Int64Writer&>(*group.NextColumn());
    for (const Row& row : rows_) {
      const std::int16_t level = row.label < 0 ? 0 : column.descr()->max_definition_level();
      column.WriteBatch(1, &level, nullptr, &row.label);
    }
    column.Close();
  }

  std::size_t classes_, group_rows_;
  std::shared_ptr<SinkStream> stream_;
  std::unique_ptr<parquet::ParquetFileWriter> writer_;
  std::vector<std::uint8_t> images_;  // of the current row group, concatenated
  std::vector<Row> rows_;
};

parquet::schema::NodePtr node_of(const TableField& field) {
  using parquet::Type, parquet::schema::PrimitiveNode;
  const auto repetition = field.nullable ? parquet::Repetition::OPTIONAL : parquet::Repetition::REQUIRED;
  if (std::holds_alternative<std::vector<std::string>>(field.type))
    return PrimitiveNode::Make(field.name, repetition, parquet::LogicalType::String(), Type::BYTE_ARRAY);
  const bool whole = std::holds_alternative<std::vector<std::int64_t>>(field.type);
  return PrimitiveNode::Make(field.name, repetition, whole ? Type::INT64 : Type::FLOAT);
}

class ArrowTable final : public TableWriter {
 public:
  ArrowTable(ByteSink& sink, const std::vector<TableField>& fields) : stream_(std::make_shared<SinkStream>(sink)) {
    parquet::schema::NodeVector nodes;
    for (const TableField& field : fields) nodes.push_back(node_of(field));
    using parquet::schema::GroupNode;
    const auto schema =
        std::static_pointer_cast<GroupNode>(GroupNode::Make("schema", parquet::Repetition::REQUIRED, nodes));
    const auto properties = parquet::WriterProperties::Builder().created_by("unstarve")->build();
    guarded(*stream_, [&] { writer_ = parquet::ParquetFileWriter::Open(stream_, schema, properties); });
  }
  ~ArrowTable() override { stream_->abandon(); }
  ArrowTable(const ArrowTable&) = delete;
  ArrowTable& operator=(const ArrowTable&) = delete;

  void write(const std::vector<TableColumn>& columns) override {
    guarded(*stream_, [&] {
      parquet::RowGroupWriter* const group = writer_->AppendRowGroup();
      for (const TableColumn& column : columns)
        std::visit([&](const auto& values) { write_column(*group->NextColumn(), values); }, column);
      group->Close();
    });
  }
  void finish() override {
    guarded(*stream_, [&] { writer_->Close(); });
  }

 private:
  static void write_column(parquet::ColumnWriter& writer, const std::vector<std::int64_t>& values) {
    auto& column = static_cast<parquet::Int64Writer&>(writer);
    const std::int16_t present = column.descr()->max_definition_level();
    for (const std::int64_t& value : values) {
      const std::int16_t level = value < 0 ? std::int16_t{0} : present;
      column.WriteBatch(1, &level, nullptr, &value);
    }
    column.Close();
  }
  static void write_column(parquet::ColumnWriter& writer, const std::vector<float>& values) {
    auto& column = static_cast<parquet::FloatWriter&>(writer);
    column.WriteBatch(static_cast<std::int64_t>(values.size()), nullptr, nullptr, values.data());
    column.Close();
  }
  static void write_column(parquet::ColumnWriter& writer, const std::vector<std::string>& values) {
    auto& column = static_cast<parquet::ByteArrayWriter&>(writer);
    for (const std::string& value : values) {
      const parquet::ByteArray bytes = as_bytes(value);
      column.WriteBatch(1, nullptr, nullptr, &bytes);
    }
    column.Close();
  }

  std::shared_ptr<SinkStream> stream_;
  std::unique_ptr<parquet::ParquetFileWriter> writer_;
};

}  // namespace

std::unique_ptr<TableWriter> make_arrow_table(ByteSink& sink, const std::vector<TableField>& fields) {
  return std::make_unique<ArrowTable>(sink, fields);
}

std::unique_ptr<RecordWriter> make_arrow_writer(ByteSink& sink, const std::vector<std::string>& classes,
                                                std::size_t group_rows) {
  return std::make_unique<ParquetWriter>(sink, classes, group_rows);
}

}  // namespace unstarve
