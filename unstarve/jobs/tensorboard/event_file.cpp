#include "unstarve/jobs/tensorboard/event_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/core/machine/host.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/bytes/wire_writer.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

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
constexpr std::int64_t kStart = 1, kRgb = 3, kString = 7;

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

WireWriter event_at(std::int64_t step) { return WireWriter().float64(kWallTime, unix_seconds()).integer(kStep, step); }

std::string event_of(std::int64_t step, const WireWriter& value) {
  return event_at(step).message(kSummary, WireWriter().message(kValue, value)).text();
}

// Appends the checksum of `bytes`.
void append_checksum(std::string& text, std::string_view bytes) {
  append_little(text, mask_crc32c(crc32c(as_bytes(bytes))));
}

}  // namespace

EventFile::EventFile(const fs::path& folder, std::int64_t first_step) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw io_error("create the folder", folder.string(), failed.value());
  path_ = folder / fmt::format("events.out.tfevents.{}.{}.{}", static_cast<std::int64_t>(unix_seconds()), host_name(),
                               ::getpid());
  file_.reset(std::fopen(path_.c_str(), "ab"));
  if (!file_) throw io_error("create", path_.string(), errno);
  write(WireWriter().float64(kWallTime, unix_seconds()).bytes(kFileVersion, "brain.Event:2").text());
  if (first_step > 0) write(event_at(first_step).message(kSessionLog, WireWriter().integer(kStatus, kStart)).text());
}

void EventFile::scalar(std::string_view tag, std::int64_t step, double value) {
  write(event_of(step, WireWriter().bytes(kTag, tag).float32(kSimpleValue, static_cast<float>(value))));
}

void EventFile::text(std::string_view tag, std::int64_t step, std::string_view markdown) {
  // A tensor of one string, for the plugin "text".
  const WireWriter shape = WireWriter().message(kDimension, WireWriter().integer(kSize, 1));
  const WireWriter tensor = WireWriter().integer(kType, kString).message(kShape, shape).bytes(kStrings, markdown);
  const WireWriter metadata = WireWriter().message(kPluginData, WireWriter().bytes(kPluginName, "text"));
  write(event_of(step, WireWriter().bytes(kTag, tag).message(kTensor, tensor).message(kMetadata, metadata)));
}

void EventFile::image(std::string_view tag, std::int64_t step, std::span<const std::uint8_t> png, Size size) {
  const WireWriter image = WireWriter()
                               .integer(kHeight, size.height)
                               .integer(kWidth, size.width)
                               .integer(kColourSpace, kRgb)
                               .bytes(kEncoded, png);
  write(event_of(step, WireWriter().bytes(kTag, tag).message(kImage, image)));
}

void EventFile::write(const std::string& event) {
  std::string record;
  append_little(record, static_cast<std::uint64_t>(event.size()));
  append_checksum(record, record);
  record += event;
  append_checksum(record, event);
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() || std::fflush(file_.get()) != 0)
    throw io_error("write", path_.string(), errno);
}

void write_recording_events(const std::filesystem::path& folder, const Recording& recording) {
  std::map<std::string, EventFile> files;
  const auto file_of = [&](const std::string& run) -> EventFile& {
    return files.try_emplace(run, folder / run).first->second;
  };
  for (const RecordedScalar& scalar : recording.scalars)
    for (const auto& [step, value] : scalar.points) file_of(scalar.run).scalar(scalar.tag, step, value);
  if (!recording.text.empty()) file_of("").text(recording.text_tag, 0, recording.text);
}

}  // namespace unstarve
