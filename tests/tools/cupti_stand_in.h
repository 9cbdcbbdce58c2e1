#pragma once
// The input of the library that replaces CUPTI, from a test program: the work that a GPU would have done. A stand-in
// records it if its kind is enabled. Times are those of cuptiGetTimestamp().

#include <cstdint>

extern "C" {
extern int stand_in_kinds;  // number of kinds that are recorded at present
void stand_in_kernel(const char* name, std::uint32_t stream, std::uint64_t begin_ns, std::uint64_t end_ns);
// To the device: from pageable memory (1) or pinned memory (2).
void stand_in_copy(std::uint8_t memory, std::uint64_t bytes, std::uint64_t begin_ns, std::uint64_t end_ns);
// From the device to pageable memory.
void stand_in_copy_back(std::uint64_t bytes, std::uint64_t begin_ns, std::uint64_t end_ns);
void stand_in_call(std::uint32_t function, std::uint64_t begin_ns, std::uint64_t end_ns);  // of the runtime
// CUPTI itself takes time of the program.
void stand_in_overhead(std::uint64_t begin_ns, std::uint64_t end_ns);
// Memory of the device, or pinned memory of the host, is allocated (1) or released (2). Records of releases have no
// bytes.
void stand_in_memory(std::uint32_t operation, std::uint64_t address, std::uint64_t bytes, std::uint64_t ns);
void stand_in_pinned(std::uint32_t operation, std::uint64_t address, std::uint64_t bytes, std::uint64_t ns);
// Unified memory: the kind of counter of CUPTI, bytes or faults.
void stand_in_unified(std::uint32_t counter, std::uint64_t value, std::uint64_t begin_ns, std::uint64_t end_ns);
// Another profiler subscribes.
void stand_in_subscribe();
}

// Functions of the runtime that the stand-in knows.
inline constexpr std::uint32_t kStandInLaunch = 211, kStandInSynchronize = 165, kStandInCopy = 41, kStandInGetter = 16;
