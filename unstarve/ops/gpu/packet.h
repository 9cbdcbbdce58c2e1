#pragma once
// A recording as one block of bytes, so that it is copied to a device by one call.
//
// Threads: pure. The packet starts at a multiple of 64; offsets in it do not depend on its address.

#include <cstddef>
#include <cstdint>

#include "unstarve/ops/gpu/program.h"
#include "unstarve/ops/gpu/program_recorder.h"

namespace unstarve::gpu {

[[nodiscard]] std::size_t packet_bytes(const Recording& recording);
// Writes packet_bytes() to `to`.
void write_packet(const Recording& recording, std::uint8_t* to);
// The program in a packet at `base`, which may be device memory.
[[nodiscard]] BatchProgram read_packet(const Recording& recording, const std::uint8_t* base);

}  // namespace unstarve::gpu
