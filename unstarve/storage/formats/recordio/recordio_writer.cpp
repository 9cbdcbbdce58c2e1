#include "unstarve/storage/formats/recordio/recordio.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/dataset/record_writer.h"
#include "unstarve/storage/formats/recordio/recordio_parts.h"

namespace unstarve {
namespace {

constexpr std::size_t kMaxPartBytes = (std::size_t{1} << 29) - 1;

// The magic as loaded in the byte order of this machine.
constexpr std::uint32_t kMagicInMemory =
    std::endian::native == std::endian::little ? kRecordioMagic : __builtin_bswap32(kRecordioMagic);

class RecordioWriter final : public RecordWriter {
 public:
  explicit RecordioWriter(ByteSink& sink) : sink_(sink) {}

  void append(const OutRecord& record) override {
    index_ += fmt::format("{}\t{}\n", record.number, sink_.position());
    std::string head;
    append_little<std::uint32_t>(head, 0);  // flag 0: the label is in the header
    const auto label = static_cast<float>(std::max<std::int64_t>(record.label, 0));
    append_little<std::uint32_t>(head, std::bit_cast<std::uint32_t>(label));
    append_little<std::uint64_t>(head, record.number);
    append_little<std::uint64_t>(head, 0);  // id2
    bytes_.assign(head.begin(), head.end());
    bytes_.insert(bytes_.end(), record.image.begin(), record.image.end());
    write_parts(record.key);
  }
  void finish() override {}
  [[nodiscard]] std::string index() const override { return index_; }

 private:
  // Splits the record where four aligned bytes equal the magic; these bytes are omitted.
  void write_parts(std::string_view key) {
    std::size_t begin = 0;
    bool first = true;
    for (std::size_t at = 0; at + 4 <= bytes_.size(); at += 4) {
      std::uint32_t word;
      std::memcpy(&word, bytes_.data() + at, sizeof word);
      if (word != kMagicInMemory) continue;
      part(first ? RecordioFlag::kFirst : RecordioFlag::kMiddle, begin, at, key);
      first = false;
      begin = at + 4;
    }
    part(first ? RecordioFlag::kWhole : RecordioFlag::kLast, begin, bytes_.size(), key);
  }

  void part(RecordioFlag flag, std::size_t begin, std::size_t end, std::string_view key) {
    const std::size_t length = end - begin;
    if (length > kMaxPartBytes) {
      throw input_error("write RecordIO: {} has {} bytes in one part; expected at most {}", key, length, kMaxPartBytes);
    }
    std::string head;
    append_little<std::uint32_t>(head, kRecordioMagic);
    append_little<std::uint32_t>(head, static_cast<std::uint32_t>(flag) << 29 | static_cast<std::uint32_t>(length));
    sink_.write(head);
    sink_.write(std::span<const std::uint8_t>(bytes_).subspan(begin, length));
    sink_.write(std::string((4 - length % 4) % 4, '\0'));
  }

  ByteSink& sink_;
  std::vector<std::uint8_t> bytes_;  // of the current record
  std::string index_;
};

}  // namespace

std::unique_ptr<RecordWriter> make_recordio_writer(ByteSink& sink, const std::vector<std::string>&) {
  return std::make_unique<RecordioWriter>(sink);
}

}  // namespace unstarve
