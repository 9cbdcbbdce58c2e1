#include "unstarve/ops/gpu/packet.h"

#include <cstring>
#include <type_traits>
#include <vector>

namespace unstarve::gpu {
namespace {

// Calls visit(part, offset) for each part of the recording in order; returns the size of the packet in bytes.
template <class Visit>
std::size_t each_part(const Recording& all, const Visit& visit) {
  std::size_t offset = 0;
  const auto part = [&](const auto& values) {
    using T = typename std::remove_cvref_t<decltype(values)>::value_type;
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);
    visit(values, offset);
    offset = (offset + values.size() * sizeof(T) + 63) / 64 * 64;
  };
  part(all.samples);
  part(all.commands);
  part(all.layers);
  part(all.points);
  part(all.tables);
  part(all.starts);
  part(all.blur_weights);
  part(all.weights);
  return offset;
}

}  // namespace

std::size_t packet_bytes(const Recording& recording) {
  return each_part(recording, [](const auto&, std::size_t) {});
}

void write_packet(const Recording& recording, std::uint8_t* to) {
  each_part(recording, [to](const auto& values, std::size_t offset) {
    if (!values.empty()) std::memcpy(to + offset, values.data(), values.size() * sizeof(values[0]));
  });
}

BatchProgram read_packet(const Recording& recording, const std::uint8_t* base) {
  BatchProgram program;
  each_part(recording, [&](const auto& values, std::size_t offset) {
    using T = typename std::remove_cvref_t<decltype(values)>::value_type;
    const T* const first = reinterpret_cast<const T*>(base + offset);
    if constexpr (std::is_same_v<T, SampleProgram>) program.samples = first;
    if constexpr (std::is_same_v<T, Command>) program.commands = first;
    if constexpr (std::is_same_v<T, Layer>) program.layers = first;
    if constexpr (std::is_same_v<T, PointStep>) program.points = first;
    if constexpr (std::is_same_v<T, Table>) program.tables = first;
    if constexpr (std::is_same_v<T, std::int32_t>) program.starts = first;
    if constexpr (std::is_same_v<T, std::uint32_t>) program.blur_weights = first;
    if constexpr (std::is_same_v<T, std::int16_t>) program.weights = first;
  });
  program.count = static_cast<std::int64_t>(recording.samples.size());
  program.scratch = recording.scratch;
  return program;
}

}  // namespace unstarve::gpu
