#pragma once
// How little data an image of a JPEG's size can have: a header of a few hundred bytes may claim any size, and memory is
// not taken on its word.
//
// Every block of a Huffman-coded scan has a code for DC at least, and one for AC where the scan holds those too; no
// code is shorter than its table's shortest. A file with less than that ends too early, which is refused anyway
// (jpeg_decoder.h): so nothing is refused by this that would be decoded otherwise. Arithmetic coding has no such bound:
// a likely decision comes down to 2^-15 bits (T.81, table D.3), some 500 bytes for 65,500 x 65,500. Nor have scans that
// begin a progressive file without its DC.
//
// Threads: a pure function.

#include <cstdint>

struct jpeg_decompress_struct;

namespace unstarve {

// After jpeg_read_header(): bytes of the first scan, if rows 0 .. rows - 1 of the stored image at full size are to be
// decoded; all rows, where the file has several scans. 0 where nothing is known.
[[nodiscard]] std::uint64_t least_scan_bytes(jpeg_decompress_struct& cinfo, int rows);

}  // namespace unstarve
