// Arbitrary bytes as a RecordIO file: scans it and reads every record that the scan accepts.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/recordio/recordio.h"
#include "unstarve/storage/formats/recordio/recordio_parts.h"
#include "unstarve/storage/testing/forward_memory.h"

namespace {

using namespace unstarve;

// Checks that every byte belongs to one record, damaged range or record of InsightFace without an image, in order.
class CheckingSink final : public RecordSink {
 public:
  explicit CheckingSink(std::span<const std::uint8_t> file) : file_(file) {}
  void add(const ScannedRecord& record) override {
    take(record.offset, record.length);
    const std::span<const std::uint8_t> stored = file_.subspan(record.offset, record.length);
    AlignedBytes buffer;
    Value image;
    recordio_format()->fill(stored, {}, buffer, image);  // a record accepted by the scan must be readable
    if (image.bytes.size() != record.encoded.size()) __builtin_trap();
  }
  void add_damaged(std::uint64_t offset, std::uint64_t length, std::string_view) override { take(offset, length); }
  void finish() {
    skip_ranges(file_.size());
    if (end_ != file_.size()) __builtin_trap();
  }

 private:
  void skip_ranges(std::uint64_t to) {
    std::vector<std::uint8_t> buffer(file_.size());
    while (end_ < to) {
      std::uint64_t end = end_;  // of the record, which may be in parts
      RecordioHead head;
      do {
        if (file_.size() - end < kRecordioHeadBytes) __builtin_trap();
        head = parse_recordio_head(file_.subspan(end));
        end += head.stored_bytes();
        if (end > to) __builtin_trap();
      } while (!head.ends());
      if (!is_insightface_range(join_recordio(file_.subspan(end_, end - end_), buffer.data()))) __builtin_trap();
      end_ = end;
    }
  }

  void take(std::uint64_t offset, std::uint64_t length) {
    skip_ranges(offset);
    if (offset != end_ || length == 0 || length > file_.size() - offset) __builtin_trap();
    end_ = offset + length;
  }
  std::span<const std::uint8_t> file_;
  std::uint64_t end_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> file(data, size);
  testing::ForwardMemory bytes(file);
  CheckingSink sink(file);
  recordio_format()->scan(bytes, sink);
  sink.finish();
  std::vector<std::uint8_t> buffer(size);
  try {
    (void)parse_recordio_image(join_recordio(file, buffer.data()));
  } catch (const Error&) {
  }
  return 0;
}
