#include "unstarve/storage/formats/tfrecord/tfrecord.h"

#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {
namespace {

// Protocol buffers: a field is a varint (number << 3 | wire type); for wire type 2 a length and the bytes follow.
constexpr char kBytesOne = 1 << 3 | 2;    // field 1: Example.features, Features.feature, key, BytesList.value, ...
constexpr char kBytesTwo = 2 << 3 | 2;    // field 2: the value of a map entry
constexpr char kBytesThree = 3 << 3 | 2;  // field 3: Feature.int64_list

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}

std::size_t varint_bytes(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 128; value >>= 7) ++bytes;
  return bytes;
}

std::size_t field_bytes(std::size_t payload) { return 1 + varint_bytes(payload) + payload; }

void append_head(std::string& out, char tag, std::size_t payload) {
  out.push_back(tag);
  append_varint(out, payload);
}

// Appends an entry of the feature map up to the bytes of its value.
void append_entry(std::string& out, std::string_view name, char list, std::size_t value_bytes) {
  const std::size_t list_bytes = field_bytes(value_bytes);
  const std::size_t feature_bytes = field_bytes(list_bytes);
  append_head(out, kBytesOne, field_bytes(name.size()) + field_bytes(feature_bytes));
  append_head(out, kBytesOne, name.size());
  out += name;
  append_head(out, kBytesTwo, feature_bytes);
  append_head(out, list, list_bytes);
  append_head(out, kBytesOne, value_bytes);
}

void append_text(std::string& out, std::string_view name, std::string_view value) {
  append_entry(out, name, kBytesOne, value.size());
  out += value;
}

void append_number(std::string& out, std::string_view name, std::int64_t value) {
  const auto number = static_cast<std::uint64_t>(value);
  append_entry(out, name, kBytesThree, varint_bytes(number));
  append_varint(out, number);
}

class TfRecordWriter final : public RecordWriter {
 public:
  explicit TfRecordWriter(ByteSink& sink) : sink_(sink) {}

  void append(const OutRecord& record) override {
    before_.clear();
    if (record.label >= 0) append_number(before_, "image/class/label", record.label);
    if (record.label >= 0 && !record.class_name.empty()) append_text(before_, "image/class/text", record.class_name);
    append_entry(before_, "image/encoded", kBytesOne, record.image.size());
    after_.clear();
    append_text(after_, "image/filename", record.key);
    append_text(after_, "image/format", record.encoding);
    append_number(after_, "image/height", record.size.height);
    append_number(after_, "image/width", record.size.width);
    write(before_, record.image, after_);
  }
  void finish() override {}

 private:
  // | length | checksum of the length | Example: head, before, image, after | checksum of the Example |
  void write(const std::string& before, std::span<const std::uint8_t> image, const std::string& after) {
    const std::size_t features = before.size() + image.size() + after.size();
    example_.clear();
    append_head(example_, kBytesOne, features);
    head_.clear();
    append_little<std::uint64_t>(head_, example_.size() + features);
    append_little<std::uint32_t>(head_, mask_crc32c(crc32c(as_bytes(head_))));
    std::uint32_t crc = crc32c(as_bytes(example_));
    crc = crc32c(as_bytes(before), crc);
    crc = crc32c(image, crc);
    crc = crc32c(as_bytes(after), crc);
    sink_.write(head_);
    sink_.write(example_);
    sink_.write(before);
    sink_.write(image);
    sink_.write(after);
    head_.clear();
    append_little<std::uint32_t>(head_, mask_crc32c(crc));
    sink_.write(head_);
  }

  ByteSink& sink_;
  std::string head_, example_, before_, after_;  // members to reuse their memory
};

}  // namespace

std::unique_ptr<RecordWriter> make_tfrecord_writer(ByteSink& sink, const std::vector<std::string>&) {
  return std::make_unique<TfRecordWriter>(sink);
}

}  // namespace unstarve
