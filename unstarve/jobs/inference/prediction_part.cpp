#include "unstarve/jobs/inference/prediction_part.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/core/file_transfer.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/bytes/crc.h"

namespace unstarve {
namespace {

constexpr std::string_view kMagic = "unstarve predictions 1\n";
// Longer values of a header are not shown in messages.
constexpr std::size_t kLongestShown = 80;

struct BlockHead {
  std::uint32_t count;  // rows; of the header: bytes
  std::uint32_t crc;
};

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::size_t row_bytes(std::size_t values) {
  return sizeof(std::uint64_t) + sizeof(std::int64_t) + values * sizeof(float);
}

// False at the end of the file.
bool read_fully(int file, std::span<std::uint8_t> bytes, std::uint64_t offset, const std::string& path) {
  const Transfer read = read_at(file, offset, bytes);
  if (read.error != 0) throw io_error("read", path, read.error);
  return read.bytes == bytes.size();
}

std::uint64_t size_of_file(int file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) throw io_error("read", path, errno);
  return static_cast<std::uint64_t>(facts.st_size);
}

// The members of the expected header that the found one has with other values: "model \"a.onnx\", another data".
std::string differences(const std::string& found, const std::string& expected) {
  const auto have = try_parse_ordered_json(found);
  const auto want = parse_ordered_json(expected);
  std::string text;
  for (const auto& [key, value] : want.items()) {
    const auto other = have.is_object() && have.contains(key) ? have[key] : nlohmann::ordered_json();
    if (other == value) continue;
    const std::string shown = json_text(other);
    text += (text.empty() ? "" : ", ") + (shown.size() <= kLongestShown ? key + " " + shown : "another " + key);
  }
  return text;
}

}  // namespace

void PredictionRows::clear() {
  ids.clear();
  labels.clear();
  data.clear();
}

PredictionPart::PredictionPart(std::filesystem::path path, const std::string& header, std::size_t values,
                               const std::function<void(const PredictionRows&)>& use)
    : path_(std::move(path)), values_(values), file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (!file_.valid()) throw io_error("open", path_.string(), errno);
  lock_.emplace(file_.get(), LOCK_EX | LOCK_NB);
  if (!lock_->held()) throw Error(ErrorKind::kArgument, "infer: another process writes " + path_.string());
  const BlockHead head{static_cast<std::uint32_t>(header.size()), crc32(bytes_of(header))};
  std::string begin(kMagic);
  begin.append(reinterpret_cast<const char*>(&head), sizeof head);
  begin += header;
  begin_ = end_ = begin.size();
  const std::string found = read_begin();
  if (begin.starts_with(found) && found.size() < begin.size()) {  // new, or killed while it began
    write_fully(file_.get(), path_.string(), 0, bytes_of(begin));
  } else {
    if (found != begin) reject(found, header);
    end_ = scan(begin_, [&](const PredictionRows& rows) {
      rows_ += rows.size();
      if (use) use(rows);
    });
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) throw io_error("write", path_.string(), errno);
}

// The magic, the head and the header of the file, or all of a shorter file or of one of another kind.
std::string PredictionPart::read_begin() const {
  const std::uint64_t size = size_of_file(file_.get(), path_.string());
  std::string found(std::min<std::uint64_t>(size, kMagic.size() + sizeof(BlockHead)), '\0');
  const auto read = [&](std::uint64_t from) {
    const std::span<std::uint8_t> rest{reinterpret_cast<std::uint8_t*>(found.data()) + from, found.size() - from};
    if (!read_fully(file_.get(), rest, from, path_.string())) found.clear();
  };
  read(0);
  if (found.size() < kMagic.size() + sizeof(BlockHead) || !found.starts_with(kMagic)) return found;
  BlockHead head{};
  std::memcpy(&head, found.data() + kMagic.size(), sizeof head);
  const std::uint64_t begun = found.size();
  found.resize(begun + std::min<std::uint64_t>(head.count, size - begun));
  read(begun);
  return found;
}

void PredictionPart::reject(const std::string& found, const std::string& header) const {
  const std::size_t at = kMagic.size() + sizeof(BlockHead);
  BlockHead head{};
  if (found.size() > at) std::memcpy(&head, found.data() + kMagic.size(), sizeof head);
  const std::string other = found.size() > at ? found.substr(at) : "";
  if (!found.starts_with(kMagic) || other.empty() || crc32(bytes_of(other)) != head.crc)
    throw Error(ErrorKind::kInput, "resume " + path_.string() +
                                       ": found another file; expected predictions of an interrupted run. Delete it");
  throw Error(ErrorKind::kInput, fmt::format("resume {}: found predictions with {}; expected the predictions of this "
                                             "run. Delete the file to start again, or repeat the command of that run",
                                             path_.string(), differences(other, header)));
}

std::uint64_t PredictionPart::scan(std::uint64_t begin, const std::function<void(const PredictionRows&)>& use) const {
  std::vector<std::uint8_t> bytes;
  PredictionRows rows;
  rows.values = values_;
  BlockHead head{};
  const std::uint64_t size = size_of_file(file_.get(), path_.string());
  const std::span<std::uint8_t> head_bytes{reinterpret_cast<std::uint8_t*>(&head), sizeof head};
  while (read_fully(file_.get(), head_bytes, begin, path_.string()) && head.count > 0 &&  // not a hole
         head.count <= (size - begin) / row_bytes(values_)) {                             // no more than the file has
    bytes.resize(head.count * row_bytes(values_));
    if (!read_fully(file_.get(), bytes, begin + sizeof head, path_.string()) || crc32(bytes) != head.crc) break;
    rows.ids.resize(head.count);
    rows.labels.resize(head.count);
    rows.data.resize(head.count * values_);
    const std::uint8_t* at = bytes.data();
    const auto take = [&](auto& vector) {
      const std::size_t length = vector.size() * sizeof(vector[0]);
      if (length > 0) std::memcpy(vector.data(), at, length);
      at += length;
    };
    take(rows.ids);
    take(rows.labels);
    take(rows.data);
    use(rows);
    begin += sizeof head + bytes.size();
  }
  return begin;
}

void PredictionPart::append(const PredictionRows& rows) {
  block_.resize(sizeof(BlockHead) + rows.size() * row_bytes(values_));
  std::uint8_t* at = block_.data() + sizeof(BlockHead);
  const auto put = [&](const auto& vector) {
    const std::size_t length = vector.size() * sizeof(vector[0]);
    if (length > 0) std::memcpy(at, vector.data(), length);
    at += length;
  };
  put(rows.ids);
  put(rows.labels);
  put(rows.data);
  const BlockHead head{static_cast<std::uint32_t>(rows.size()),
                       crc32(std::span<const std::uint8_t>(block_).subspan(sizeof(BlockHead)))};
  std::memcpy(block_.data(), &head, sizeof head);
  write_fully(file_.get(), path_.string(), end_, block_);
  end_ += block_.size();
  rows_ += rows.size();
}

void PredictionPart::read(const std::function<void(const PredictionRows&)>& use) const { (void)scan(begin_, use); }

}  // namespace unstarve
