#include "unstarve/storage/index/record_index_builder.h"

#include <algorithm>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/little_endian.h"

namespace unstarve {

void RecordIndexBuilder::add(const ScannedRecord& record) {
  if (record.label && (*record.label < 0 || *record.label >= kMaxClasses)) {
    add_damaged(record.offset, record.length,
                "label " + std::to_string(*record.label) + " is no class number, expected 0 to " +
                    std::to_string(kMaxClasses - 1) + "; another field may hold the label");
    name_member(record.member);
    return;
  }
  IndexRecord entry{record.offset, record.length, 0, -1, 0, 0};
  take_label(record, entry);
  entry.width = static_cast<std::uint32_t>(record.size.width);
  entry.height = static_cast<std::uint32_t>(record.size.height);
  take_size(record.encoded, entry);
  records_.push_back(entry);
  end_ = record.offset + record.length;
  name_member(record.member);
}

void RecordIndexBuilder::add_damaged(std::uint64_t offset, std::uint64_t length, std::string_view reason) {
  append_little(damage_, static_cast<std::uint64_t>(records_.size()));
  append_little(damage_, static_cast<std::uint32_t>(reason.size()));
  damage_ += reason;
  records_.push_back({offset, length, 0, kDamagedLabel, 0, 0});
  end_ = offset + length;
  ++damaged_;
}

void RecordIndexBuilder::take_label(const ScannedRecord& record, IndexRecord& entry) {
  if (record.label) {
    const auto number = static_cast<std::uint32_t>(*record.label);
    entry.label = static_cast<std::int32_t>(number);
    numbers_below_ = std::max(numbers_below_, number + 1);
    if (!record.label_name.empty()) numbered_names_.try_emplace(number, record.label_name);
  } else if (!record.label_name.empty()) {
    const auto next = static_cast<std::uint32_t>(names_.size());
    if (next >= kMaxClasses) return;
    const auto [known, fresh] = names_.try_emplace(std::string(record.label_name), next);
    if (fresh) names_in_order_.emplace_back(record.label_name);
    entry.label = static_cast<std::int32_t>(known->second);
  }
}

// An image that cannot be opened has no size; decoding it reports the damage.
void RecordIndexBuilder::take_size(std::span<const std::uint8_t> encoded, IndexRecord& entry) {
  if (encoded.empty() || detect_encoding(encoded) == Encoding::kUnknown) return;
  try {
    const Size size = decoder_.open(encoded).size;
    entry.width = static_cast<std::uint32_t>(size.width);
    entry.height = static_cast<std::uint32_t>(size.height);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
  }
}

// For the record added last.
void RecordIndexBuilder::name_member(std::string_view member) {
  if (member.empty() && members_.empty()) return;
  members_.resize(records_.size());
  members_.back().assign(member.begin(), member.end());
}

std::string RecordIndexBuilder::summary(Compression compression, LabelKind kind) const {
  std::string bytes;
  append_little(bytes, static_cast<std::uint32_t>(compression));
  append_little(bytes, static_cast<std::uint32_t>(kind));
  append_little(bytes, kind == LabelKind::kNames ? static_cast<std::uint32_t>(names_.size()) : numbers_below_);
  append_little(bytes, damaged_);
  const auto add_name = [&](std::uint32_t number, const std::string& name) {
    append_little(bytes, number);
    append_little(bytes, static_cast<std::uint32_t>(name.size()));
    bytes += name;
  };
  for (const auto& [number, name] : numbered_names_) add_name(number, name);
  for (std::size_t i = 0; i < names_in_order_.size(); ++i) {
    add_name(static_cast<std::uint32_t>(i), names_in_order_[i]);
  }
  return bytes;
}

std::string RecordIndexBuilder::finish(const Fingerprint& fingerprint, const std::string& made_by,
                                       Compression compression, std::string points, const std::string& shard) {
  if (numbers_below_ > 0 && !names_.empty()) {
    throw Error(ErrorKind::kInput, "index " + shard + ": some records have a class number and others only a name ('" +
                                       names_in_order_.front() + "'); expected the same for all");
  }
  const LabelKind kind = !names_.empty()      ? LabelKind::kNames
                         : numbers_below_ > 0 ? LabelKind::kNumbers
                                              : LabelKind::kNone;
  std::vector<IndexPart> parts{{"made-by", made_by}, {"summary", summary(compression, kind)}, {"damage", damage_}};
  if (compression != Compression::kNone) parts.push_back({"points", std::move(points)});
  std::vector<IndexBlobs> blobs;
  if (!members_.empty()) {
    members_.resize(records_.size());
    blobs.push_back({"member", std::move(members_)});
  }
  return index_bytes(fingerprint, records_, blobs, parts);
}

}  // namespace unstarve
