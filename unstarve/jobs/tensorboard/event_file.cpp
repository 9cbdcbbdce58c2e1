#include "unstarve/jobs/tensorboard/event_file.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/crc.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Protocol buffers: the fields of a message in sequence, each with its number and the type of its encoding.
class Message {
 public:
  Message& varint(int field, std::uint64_t value) {
    key(field, 0);
    append_varint(value);
    return *this;
  }
  Message& float64(int field, double value) {
    key(field, 1);
    append_fixed(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  Message& float32(int field, float value) {
    key(field, 5);
    append_fixed(std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  Message& bytes(int field, std::string_view value) {
    key(field, 2);
    append_varint(value.size());
    text_ += value;
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void key(int field, unsigned type) { append_varint(static_cast<unsigned>(field) << 3 | type); }
  void append_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  template <class Integer>
  void append_fixed(Integer value) {
    for (std::size_t i = 0; i < sizeof value; ++i) text_ += static_cast<char>(value >> 8 * i);
  }
  std::string text_;
};

// Numbers of the fields.
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum SummaryField { kValue = 1 };
enum ValueField { kTag = 1, kSimpleValue = 2, kImage = 4, kTensor = 8, kMetadata = 9 };
enum MetadataField { kPluginData = 1 };
enum PluginField { kPluginName = 1 };
enum TensorField { kType = 1, kShape = 2, kStrings = 8 };
enum ShapeField { kDimension = 2 };
enum DimensionField { kSize = 1 };
enum ImageField { kHeight = 1, kWidth = 2, kColourSpace = 3, kEncoded = 4 };
enum SessionField { kStatus = 1 };
constexpr std::uint64_t kStart = 1, kRgb = 3, kString = 7;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Message event_at(std::int64_t step) {
  return Message().float64(kWallTime, seconds_now()).varint(kStep, static_cast<std::uint64_t>(step));
}

std::string event_of(std::int64_t step, const Message& value) {
  return event_at(step).bytes(kSummary, Message().bytes(kValue, value.text()).text()).text();
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
}

std::uint32_t checksum(std::string_view bytes) {
  return mask_crc32c(crc32c({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}));
}

template <class Integer>
std::string little_endian(Integer value) {
  std::string text;
  for (std::size_t i = 0; i < sizeof value; ++i) text += static_cast<char>(value >> 8 * i);
  return text;
}

}  // namespace

EventFile::EventFile(const fs::path& folder, std::int64_t first_step) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw io_error("create the folder", folder.string(), failed.value());
  path_ = folder / fmt::format("events.out.tfevents.{}.{}.{}", static_cast<std::int64_t>(seconds_now()), host_name(),
                               ::getpid());
  file_.reset(std::fopen(path_.c_str(), "ab"));
  if (!file_) throw io_error("create", path_.string(), errno);
  write(Message().float64(kWallTime, seconds_now()).bytes(kFileVersion, "brain.Event:2").text());
  if (first_step > 0) write(event_at(first_step).bytes(kSessionLog, Message().varint(kStatus, kStart).text()).text());
}

void EventFile::scalar(std::string_view tag, std::int64_t step, double value) {
  write(event_of(step, Message().bytes(kTag, tag).float32(kSimpleValue, static_cast<float>(value))));
}

void EventFile::text(std::string_view tag, std::int64_t step, std::string_view markdown) {
  // A tensor of one string, for the plugin "text".
  const Message shape = Message().bytes(kDimension, Message().varint(kSize, 1).text());
  const Message tensor = Message().varint(kType, kString).bytes(kShape, shape.text()).bytes(kStrings, markdown);
  const Message metadata = Message().bytes(kPluginData, Message().bytes(kPluginName, "text").text());
  write(event_of(step, Message().bytes(kTag, tag).bytes(kTensor, tensor.text()).bytes(kMetadata, metadata.text())));
}

void EventFile::image(std::string_view tag, std::int64_t step, std::span<const std::uint8_t> png, Size size) {
  const Message image = Message()
                            .varint(kHeight, static_cast<std::uint64_t>(size.height))
                            .varint(kWidth, static_cast<std::uint64_t>(size.width))
                            .varint(kColourSpace, kRgb)
                            .bytes(kEncoded, {reinterpret_cast<const char*>(png.data()), png.size()});
  write(event_of(step, Message().bytes(kTag, tag).bytes(kImage, image.text())));
}

void EventFile::write(const std::string& event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  const std::string record = length + little_endian(checksum(length)) + event + little_endian(checksum(event));
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() || std::fflush(file_.get()) != 0)
    throw io_error("write", path_.string(), errno);
}

}  // namespace unstarve
