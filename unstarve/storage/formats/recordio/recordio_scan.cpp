#include "unstarve/storage/formats/recordio/recordio_scan.h"

#include <algorithm>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/little_endian.h"

namespace unstarve {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{1} << 20;

bool is_head(std::span<const std::uint8_t> bytes) noexcept {
  return bytes.size() >= kRecordioHeadBytes && is_recordio_magic(bytes.data()) &&
         load_little<std::uint32_t>(bytes.data() + 4) >> 29 <= 3;
}

bool begins_record(std::span<const std::uint8_t> bytes) noexcept {
  return is_head(bytes) && parse_recordio_head(bytes).begins();
}

}  // namespace

void RecordioScan::run() {
  while (step()) {
  }
}

// One record or one damage; false at the end.
bool RecordioScan::step() {
  const std::span<const std::uint8_t> begin = bytes_.at(at_, kRecordioHeadBytes);
  if (begin.empty()) return false;
  if (!begins_record(begin)) {
    skip_damage(at_, "no RecordIO record begins here");
    return true;
  }
  RecordioHead head = parse_recordio_head(begin);
  parts_.clear();
  for (std::uint64_t part_at = at_;;) {
    const std::span<const std::uint8_t> chunk = bytes_.at(part_at, head.stored_bytes() + kRecordioHeadBytes);
    std::uint64_t good = 0;
    const Part part = look_at_part(chunk, head, good);
    if (part != Part::kGood) {
      const std::uint64_t from = std::exchange(at_, part_at + good);
      sink_.add_damaged(from, at_ - from,
                        part == Part::kCut ? "the file ends inside the record" : "the record's length is wrong");
      return true;
    }
    const std::span<const std::uint8_t> stored = chunk.first(head.stored_bytes());
    if (head.flag == RecordioFlag::kWhole) {
      add(part_at + stored.size(), stored);
      return true;
    }
    parts_.insert(parts_.end(), stored.begin(), stored.end());
    part_at += stored.size();
    if (head.ends()) {
      add(part_at, parts_);
      return true;
    }
    const std::span<const std::uint8_t> next = chunk.subspan(stored.size());
    if (!is_head(next) || parse_recordio_head(next).begins() || parts_.size() > kMaxRecordBytes) {
      const std::uint64_t from = std::exchange(at_, part_at);
      sink_.add_damaged(from, at_ - from, "the record's last part is missing");
      return true;
    }
    head = parse_recordio_head(next);
  }
}

// `chunk` is the part and the head behind it, as far as they are there. `bytes` is set to where to go on when the part
// is not good. A magic within the part tells that the length is wrong: the writer leaves none there.
RecordioScan::Part RecordioScan::look_at_part(std::span<const std::uint8_t> chunk, const RecordioHead& head,
                                              std::uint64_t& bytes) const {
  const std::uint64_t stored = head.stored_bytes();
  if (chunk.size() == stored || (chunk.size() > stored && is_head(chunk.subspan(stored)))) return Part::kGood;
  const std::uint64_t there = std::min<std::uint64_t>(chunk.size(), stored);
  for (std::size_t at = kRecordioHeadBytes; at + kRecordioHeadBytes <= there; at += 4) {
    if (!is_head(chunk.subspan(at))) continue;
    bytes = at;
    return Part::kLies;
  }
  bytes = there;
  return there < stored ? Part::kCut : Part::kGood;  // good: it is the next one that is damaged
}

void RecordioScan::add(std::uint64_t end, std::span<const std::uint8_t> stored) {
  const std::uint64_t begin = std::exchange(at_, end);
  try {
    std::vector<std::uint8_t> room(is_recordio_in_parts(stored) ? stored.size() : 0);
    const RecordioImage image = parse_recordio_image(join_recordio(stored, room.data()));
    sink_.add({begin, end - begin, image.label, {}, {}, image.encoded});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    sink_.add_damaged(begin, end - begin, error.what());
  }
}

// Goes on at the next record.
void RecordioScan::skip_damage(std::uint64_t from, std::string_view reason) {
  for (at_ += bytes_.at(at_, 4).size();;) {
    const std::span<const std::uint8_t> window = bytes_.at(at_, kWindowBytes);
    std::size_t at = 0;
    while (at + kRecordioHeadBytes <= window.size() && !begins_record(window.subspan(at))) at += 4;
    const bool found = at + kRecordioHeadBytes <= window.size();
    at_ += found || window.size() == kWindowBytes ? at : window.size();
    if (found || window.size() < kWindowBytes) break;
  }
  sink_.add_damaged(from, at_ - from, reason);
}

}  // namespace unstarve
