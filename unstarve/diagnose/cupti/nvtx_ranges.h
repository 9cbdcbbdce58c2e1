#pragma once
// Records the NVTX ranges of this process while a window is open.
//
//   window   |---------------------------------|
//   ranges  [ a ]  [ step 7 [ load ] ]  [ step 8 ]      `a` and `step 8` are not within it: they are not recorded
//
// Names that differ only in their numbers are one name, whose text is that of the first range. There are at most
// kMostRangeNames of kRangeNameBytes - 1 bytes; ranges with other names are not recorded. Ranges of all domains are.
//
// Threads: NVTX calls the functions that are attached from any thread; they neither wait nor allocate. Any thread may
//          call attach_nvtx() and nvtx_is_attached(), one at a time the others.
// Failure: nothing throws. Windows with more ranges than can be stored are marked (`write_ranges`).
// Cost:    without a window, a call and a load: nanoseconds. In a window 0.1 us per range. 1.4 MB of memory, of which
//          only what is used becomes resident.

#include <cstddef>
#include <cstdint>

#include "unstarve/diagnose/cupti/kernel_log.h"
#include "unstarve/diagnose/cupti/nvtx_api.h"

namespace unstarve {

inline constexpr std::size_t kMostRangeNames = 4096, kRangeNameBytes = 64;
inline constexpr std::size_t kMostRanges = 200'000;  // in the file: 8 MB, so that space for kernels remains

// NVTX calls the functions of this file from then on. False: this version of NVTX is not known.
[[nodiscard]] bool attach_nvtx(NvtxExportTable tables) noexcept;
[[nodiscard]] bool nvtx_is_attached() noexcept;

void open_ranges() noexcept;
void close_ranges() noexcept;
// Writes the ranges that have ended, with their names. False: some of this window were lost, or the file has
// kMostRanges.
[[nodiscard]] bool write_ranges(KernelLog& log) noexcept;

// Before the first window of another file: it will contain its names.
void forget_ranges() noexcept;

}  // namespace unstarve
