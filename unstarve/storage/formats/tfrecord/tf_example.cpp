#include "unstarve/storage/formats/tfrecord/tf_example.h"

#include <cstddef>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

// Wire types of protobuf. Groups (3 and 4) do not occur in these messages and are not written by proto3.
enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  std::uint32_t type = 0;
  std::uint64_t varint = 0;             // of kVarint
  std::span<const std::uint8_t> bytes;  // of kBytes
};

// Iterates over the fields of one message. `whole` is the beginning of the record, for offsets in error messages.
class WireReader {
 public:
  WireReader(std::span<const std::uint8_t> message, const std::uint8_t* whole)
      : at_(message.data()), end_(message.data() + message.size()), whole_(whole) {}

  // Returns false at the end.
  bool next(WireField& field) {
    if (at_ == end_) return false;
    const std::uint64_t tag = varint();
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.type = static_cast<std::uint32_t>(tag & 7);
    if (tag >> 32 != 0 || field.number == 0) damaged("a field has no valid number");
    switch (field.type) {
      case kVarint: field.varint = varint(); break;
      case kFixed64: (void)take(8); break;
      case kBytes: field.bytes = take(varint()); break;
      case kFixed32: (void)take(4); break;
      default: damaged("wire type " + std::to_string(field.type) + " is unknown");
    }
    return true;
  }

  [[nodiscard]] bool at_end() const noexcept { return at_ == end_; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) damaged("truncated inside a number");
      const std::uint64_t byte = *at_++;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    damaged("a number has more than 10 bytes");
  }

 private:
  std::span<const std::uint8_t> take(std::uint64_t count) {
    const auto left = static_cast<std::uint64_t>(end_ - at_);
    if (count > left) {
      damaged("a field declares " + std::to_string(count) + " bytes, the record contains " + std::to_string(left));
    }
    const std::span<const std::uint8_t> taken(at_, static_cast<std::size_t>(count));
    at_ += count;
    return taken;
  }

  [[noreturn]] void damaged(const std::string& what) const {
    throw Error(ErrorKind::kInput,
                "invalid tf.train.Example: " + what + " (at offset " + std::to_string(at_ - whole_) + ")");
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  const std::uint8_t* whole_;
};

Feature read_feature(std::span<const std::uint8_t> message, const std::uint8_t* whole) {
  Feature feature{Feature::Kind::kEmpty, {}};
  WireReader reader(message, whole);
  for (WireField field; reader.next(field);) {
    if (field.type != kBytes || field.number > 3) continue;
    constexpr Feature::Kind kKinds[] = {Feature::Kind::kBytes, Feature::Kind::kFloats, Feature::Kind::kIntegers};
    feature = {kKinds[field.number - 1], field.bytes};  // the last field of a oneof counts
  }
  return feature;
}

// Calls visit(key, bytes of the Feature) for every entry of the map.
template <class Visit>
void for_each_entry(std::span<const std::uint8_t> example, const Visit& visit) {
  WireReader top(example, example.data());
  for (WireField features; top.next(features);) {
    if (features.number != 1 || features.type != kBytes) continue;
    WireReader map(features.bytes, example.data());
    for (WireField entry; map.next(entry);) {
      if (entry.number != 1 || entry.type != kBytes) continue;
      std::string_view key;
      std::span<const std::uint8_t> value;
      WireReader pair(entry.bytes, example.data());
      for (WireField part; pair.next(part);) {
        if (part.number == 1 && part.type == kBytes) key = as_text(part.bytes);
        if (part.number == 2 && part.type == kBytes) value = part.bytes;
      }
      visit(key, value);
    }
  }
}

}  // namespace

void find_features(std::span<const std::uint8_t> example, std::span<const std::string_view> names,
                   std::span<Feature> features) {
  for (Feature& feature : features) feature = {};
  for_each_entry(example, [&](std::string_view key, std::span<const std::uint8_t> value) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == key) features[i] = read_feature(value, example.data());
    }
  });
}

std::optional<std::span<const std::uint8_t>> Feature::bytes() const {
  if (kind != Kind::kBytes) return std::nullopt;
  WireReader reader(list, list.data());
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.type == kBytes) return field.bytes;
  }
  return std::nullopt;
}

std::optional<std::int64_t> Feature::integer() const {
  if (kind != Kind::kIntegers) return std::nullopt;
  WireReader reader(list, list.data());
  for (WireField field; reader.next(field);) {
    if (field.number != 1) continue;
    if (field.type == kVarint) return static_cast<std::int64_t>(field.varint);
    if (field.type != kBytes) continue;
    WireReader packed(field.bytes, list.data());
    if (!packed.at_end()) return static_cast<std::int64_t>(packed.varint());
  }
  return std::nullopt;
}

bool Feature::several() const {
  constexpr std::size_t kFloatBytes = 4;
  std::size_t values = 0;
  WireReader reader(list, list.data());
  for (WireField field; reader.next(field);) {
    if (field.number != 1) continue;
    if (field.type != kBytes || kind == Kind::kBytes) {
      ++values;
    } else if (kind == Kind::kFloats) {
      values += field.bytes.size() / kFloatBytes;
    } else {
      WireReader packed(field.bytes, list.data());
      for (; !packed.at_end(); ++values) (void)packed.varint();
    }
  }
  return values > 1;
}

std::string feature_names(std::span<const std::uint8_t> example) {
  std::string names;
  for_each_entry(example, [&](std::string_view key, std::span<const std::uint8_t>) {
    names += (names.empty() ? "" : ", ") + std::string(key);
  });
  return names;
}

}  // namespace unstarve
