#pragma once
// The parts of NVIDIA's NVTX that nvtx_ranges.cpp uses: the build does not need the headers of NVTX. nvtx_api_test.cpp
// compares them where the CUDA toolkit is installed.
//
// At its first range, a library or program that uses NVTX loads the library that NVTX_INJECTION64_PATH names, and calls
// its InitializeInjectionNvtx2() with a function that returns tables. An entry of the table of a module is the address
// of a function pointer of the caller, which the library may set. NVTX extends tables at their end.

#include <cstddef>
#include <cstdint>

namespace unstarve {

inline constexpr std::uint32_t kNvtxCallbacks = 1;   // the table of tables
inline constexpr int kNvtxCore = 1, kNvtxCore2 = 5;  // modules
inline constexpr int kNvtxNotTracked = -2;           // what push and pop return instead of the depth
inline constexpr std::int32_t kNvtxAscii = 1, kNvtxWide = 2, kNvtxRegistered = 3;  // messages

// Positions in the table of a module.
inline constexpr unsigned kNvtxRangeStartEx = 4, kNvtxRangeStartA = 5, kNvtxRangeStartW = 6, kNvtxRangeEnd = 7,
                          kNvtxRangePushEx = 8, kNvtxRangePushA = 9, kNvtxRangePushW = 10, kNvtxRangePop = 11;
inline constexpr unsigned kNvtxDomainRangeStartEx = 2, kNvtxDomainRangeEnd = 3, kNvtxDomainRangePushEx = 4,
                          kNvtxDomainRangePop = 5, kNvtxDomainRegisterStringA = 10, kNvtxDomainRegisterStringW = 11,
                          kNvtxDomainCreateA = 12, kNvtxDomainCreateW = 13;

using NvtxFunction = void (*)();
struct NvtxTables {
  std::size_t bytes;
  int (*table_of)(int module, NvtxFunction*** table, unsigned* entries);  // 0: it has no such module
};
using NvtxExportTable = const void* (*)(std::uint32_t id);

struct NvtxAttributes {
  std::uint16_t version, bytes;
  std::uint32_t category;
  std::int32_t colour_type;
  std::uint32_t colour;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* wide;
    const void* registered;
  } message;
};

}  // namespace unstarve
