#include "unstarve/jobs/inference/prediction_part.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr std::string_view kMagic = "unstarve predictions 1\n";
// Longer values of a header are not shown in messages.
constexpr std::size_t kLongestShown = 80;
// A larger number of rows in a block is damage.
constexpr std::uint32_t kMostRows = 1 << 24;

struct BlockHead {
  std::uint32_t count;  // rows; of the header: bytes
  std::uint32_t crc;
};

std::uint32_t crc_of(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, bytes.data(), bytes.size()));
}

std::size_t row_bytes(std::size_t values) {
  return sizeof(std::uint64_t) + sizeof(std::int64_t) + values * sizeof(float);
}

// False at the end of the file.
bool read_fully(int file, std::span<std::uint8_t> bytes, std::uint64_t offset, const std::string& path) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw io_error("read", path, errno);
    if (got == 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

bool read_head(int file, BlockHead& head, std::uint64_t offset, const std::string& path) {
  return read_fully(file, {reinterpret_cast<std::uint8_t*>(&head), sizeof head}, offset, path);
}

void write_fully(int file, std::span<const std::uint8_t> bytes, std::uint64_t offset, const std::string& path) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::pwrite(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw io_error("write", path, errno);
    done += static_cast<std::size_t>(put);
  }
}

// The members in which two headers differ: "model: a, expected b".
std::string differences(const std::string& found, const std::string& expected) {
  const auto have = nlohmann::ordered_json::parse(found, nullptr, false);
  const auto want = nlohmann::ordered_json::parse(expected);
  std::string text;
  for (const auto& [key, value] : want.items()) {
    const auto other = have.is_object() && have.contains(key) ? have[key] : nlohmann::ordered_json();
    if (other == value) continue;
    const std::string shown = other.dump();
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
  BlockHead head{};
  std::string magic(kMagic.size(), '\0');
  const std::uint64_t at = kMagic.size() + sizeof head;
  std::vector<std::uint8_t> bytes;
  bool begun =
      read_fully(file_.get(), {reinterpret_cast<std::uint8_t*>(magic.data()), magic.size()}, 0, path_.string());
  const bool other = begun && magic != kMagic;
  begun = begun && read_head(file_.get(), head, kMagic.size(), path_.string());
  if (begun && !other) {
    bytes.resize(head.count <= 1 << 20 ? head.count : 0);
    begun = read_fully(file_.get(), bytes, at, path_.string());
  }
  begin_ = at + header.size();
  if (begun) {
    if (other || crc_of(bytes) != head.crc)
      throw Error(ErrorKind::kInput, "resume " + path_.string() +
                                         ": found another file; expected predictions of an "
                                         "interrupted run. Delete it");
    if (const std::string found(bytes.begin(), bytes.end()); found != header)
      throw Error(ErrorKind::kInput, fmt::format("resume {}: found predictions with {}; expected those of this run. "
                                                 "Delete it to start again, or repeat the command of that run",
                                                 path_.string(), differences(found, header)));
    end_ = scan(begin_, [&](const PredictionRows& rows) {
      rows_ += rows.size();
      if (use) use(rows);
    });
  } else {
    head = {static_cast<std::uint32_t>(header.size()),
            crc_of({reinterpret_cast<const std::uint8_t*>(header.data()), header.size()})};
    std::string text(kMagic);
    text.append(reinterpret_cast<const char*>(&head), sizeof head);
    text += header;
    write_fully(file_.get(), {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, 0, path_.string());
    end_ = begin_;
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) throw io_error("write", path_.string(), errno);
}

std::uint64_t PredictionPart::scan(std::uint64_t begin, const std::function<void(const PredictionRows&)>& use) const {
  std::vector<std::uint8_t> bytes;
  PredictionRows rows;
  rows.values = values_;
  BlockHead head{};
  while (read_head(file_.get(), head, begin, path_.string()) && head.count <= kMostRows) {
    bytes.resize(head.count * row_bytes(values_));
    if (!read_fully(file_.get(), bytes, begin + sizeof head, path_.string()) || crc_of(bytes) != head.crc) break;
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
                       crc_of(std::span<const std::uint8_t>(block_).subspan(sizeof(BlockHead)))};
  std::memcpy(block_.data(), &head, sizeof head);
  write_fully(file_.get(), block_, end_, path_.string());
  end_ += block_.size();
  rows_ += rows.size();
}

void PredictionPart::read(const std::function<void(const PredictionRows&)>& use) const { (void)scan(begin_, use); }

}  // namespace unstarve
