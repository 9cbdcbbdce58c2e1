#pragma once
// The values of the fields of a protobuf message, with their types.
//
// Ownership: texts and messages borrow the bytes of the field.
// Threads:   pure functions. Failure: Error(kInput) with the offset if the field has another type or is truncated.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "unstarve/storage/bytes/wire_reader.h"

namespace unstarve::infer {

[[nodiscard]] std::int64_t integer_in(const WireField& field);
[[nodiscard]] float float_in(const WireField& field);
[[nodiscard]] std::span<const std::uint8_t> message_in(const WireField& field);
[[nodiscard]] std::string_view text_in(const WireField& field);
// Of a repeated field: appends its number, or those of a packed sequence.
void append_integers(const WireField& field, std::vector<std::int64_t>& to);
void append_floats(const WireField& field, std::vector<float>& to);

}  // namespace unstarve::infer
