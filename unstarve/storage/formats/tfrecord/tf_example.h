#pragma once
// tf.train.Example, read in place: its features by name, without building the message.
//
// The wire format is protobuf's (protobuf.dev/programming-guides/encoding), the messages are TensorFlow's example.proto
// and feature.proto:
//
//   Example { 1: Features { 1: entry { 1: key, 2: Feature { 1: BytesList | 2: FloatList | 3: Int64List } } } }
//
// A key that comes twice counts as it came last, as protobuf's maps do. Unknown fields are passed over.
//
// Ownership: a Feature borrows from the bytes of the record.
// Threads:   pure functions.
// Failure:   Error(kInput) that says what is wrong and where in the message; the caller adds the record.
// Cost:      one pass over the tags and lengths; values are touched only when they are asked for.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace unstarve {

struct Feature {
  enum class Kind { kAbsent, kEmpty, kBytes, kFloats, kIntegers };
  Kind kind = Kind::kAbsent;           // kEmpty: the key is there, without a list
  std::span<const std::uint8_t> list;  // the BytesList, FloatList or Int64List

  [[nodiscard]] bool present() const noexcept { return kind != Kind::kAbsent; }
  // The first value, nothing where the list is empty or of another kind. Throws Error(kInput) for damage.
  [[nodiscard]] std::optional<std::span<const std::uint8_t>> bytes() const;
  [[nodiscard]] std::optional<std::int64_t> integer() const;
};

// Puts the feature called names[i] to features[i], as absent where there is none. Both are equally long.
void find_features(std::span<const std::uint8_t> example, std::span<const std::string_view> names,
                   std::span<Feature> features);

// The names of all features in the order they are stored, each followed by a space: for messages.
[[nodiscard]] std::string feature_names(std::span<const std::uint8_t> example);

}  // namespace unstarve
