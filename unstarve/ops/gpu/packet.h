#pragma once
// A recording as one run of bytes, so that one copy takes it to a device.
//
// Threads: pure. The packet begins at a multiple of 64; what is in it lies at the same distances wherever it is.

#include <cstddef>
#include <cstdint>

#include "unstarve/ops/gpu/program.h"
#include "unstarve/ops/gpu/program_recorder.h"

namespace unstarve::gpu {

[[nodiscard]] std::size_t packet_bytes(const Recording& recording);
// Writes packet_bytes() to `to`.
void write_packet(const Recording& recording, std::uint8_t* to);
// The program as it reads where the packet begins at `base`, which need not be memory of the host.
[[nodiscard]] BatchProgram read_packet(const Recording& recording, const std::uint8_t* base);

}  // namespace unstarve::gpu
