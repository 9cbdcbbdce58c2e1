#include "unstarve/storage/formats/tfrecord/tf_example.h"

#include <cstddef>

#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/bytes/wire_reader.h"

namespace unstarve {
namespace {

using enum WireType;

WireOrigin example_at(const std::uint8_t* begin) { return {"tf.train.Example", begin}; }

Feature read_feature(std::span<const std::uint8_t> message, const std::uint8_t* whole) {
  Feature feature{Feature::Kind::kEmpty, {}};
  WireReader reader(message, example_at(whole));
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
  WireReader top(example, example_at(example.data()));
  for (WireField features; top.next(features);) {
    if (features.number != 1 || features.type != kBytes) continue;
    WireReader map(features.bytes, example_at(example.data()));
    for (WireField entry; map.next(entry);) {
      if (entry.number != 1 || entry.type != kBytes) continue;
      std::string_view key;
      std::span<const std::uint8_t> value;
      WireReader pair(entry.bytes, example_at(example.data()));
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
  WireReader reader(list, example_at(list.data()));
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.type == kBytes) return field.bytes;
  }
  return std::nullopt;
}

std::optional<std::int64_t> Feature::integer() const {
  if (kind != Kind::kIntegers) return std::nullopt;
  WireReader reader(list, example_at(list.data()));
  for (WireField field; reader.next(field);) {
    if (field.number != 1) continue;
    if (field.type == kVarint) return static_cast<std::int64_t>(field.varint);
    if (field.type != kBytes) continue;
    WireReader packed(field.bytes, example_at(list.data()));
    if (!packed.at_end()) return static_cast<std::int64_t>(packed.varint());
  }
  return std::nullopt;
}

bool Feature::several() const {
  constexpr std::size_t kFloatBytes = 4;
  std::size_t values = 0;
  WireReader reader(list, example_at(list.data()));
  for (WireField field; reader.next(field);) {
    if (field.number != 1) continue;
    if (field.type != kBytes || kind == Kind::kBytes) {
      ++values;
    } else if (kind == Kind::kFloats) {
      values += field.bytes.size() / kFloatBytes;
    } else {
      WireReader packed(field.bytes, example_at(list.data()));
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
