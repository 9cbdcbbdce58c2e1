#pragma once
// Finds features of a tf.train.Example by name, in place, without building the message.
//
// The wire format is protobuf (protobuf.dev/programming-guides/encoding); the messages are those of TensorFlow's
// example.proto and feature.proto:
//
//   Example { 1: Features { 1: entry { 1: key, 2: Feature { 1: BytesList | 2: FloatList | 3: Int64List } } } }
//
// If a key occurs twice, the last entry counts, as for all protobuf maps. Unknown fields are skipped.
//
// Ownership: a Feature borrows from the bytes of the record.
// Threads:   pure functions.
// Failure:   Error(kInput) with the offset in the message; the caller adds the record.
// Cost:      one pass over tags and lengths; values are read only on request.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace unstarve {

struct Feature {
  enum class Kind { kAbsent, kEmpty, kBytes, kFloats, kIntegers };
  Kind kind = Kind::kAbsent;           // kEmpty: the key exists, without a list
  std::span<const std::uint8_t> list;  // the BytesList, FloatList or Int64List

  [[nodiscard]] bool present() const noexcept { return kind != Kind::kAbsent; }
  // The first value; nullopt if the list is empty or of another kind. Throws Error(kInput) for damage.
  [[nodiscard]] std::optional<std::span<const std::uint8_t>> bytes() const;
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  // Whether the list has more than one value. Throws Error(kInput) for damage.
  [[nodiscard]] bool several() const;
};

// Sets features[i] to the feature named names[i], kAbsent if there is none. Precondition: equal sizes.
void find_features(std::span<const std::uint8_t> example, std::span<const std::string_view> names,
                   std::span<Feature> features);

// The names of all features in stored order, separated by ", ", for messages.
[[nodiscard]] std::string feature_names(std::span<const std::uint8_t> example);

}  // namespace unstarve
