#pragma once
// The minimum size of a JPEG's data, checked before memory is allocated: a header of a few hundred bytes may declare
// any size.
//
// Each block of a Huffman-coded scan has at least a code for DC and, if the scan contains AC, one for AC. No code is
// shorter than its table's shortest. A file with less data is truncated and would be rejected anyway (jpeg_decoder.h),
// so this check rejects no file that would decode. There is no such bound for arithmetic coding, where a likely
// decision takes 2^-15 bits (T.81, table D.3), about 500 bytes for 65,500 x 65,500, nor for progressive files whose
// first scan lacks DC.
//
// Threads: a pure function.

#include <cstdint>

struct jpeg_decompress_struct;

namespace unstarve {

// The minimum bytes of the first scan for decoding rows 0 .. rows - 1 of the stored full-size image (all rows if the
// file has several scans); 0 if unknown. Call after jpeg_read_header().
[[nodiscard]] std::uint64_t least_scan_bytes(jpeg_decompress_struct& cinfo, int rows);

}  // namespace unstarve
