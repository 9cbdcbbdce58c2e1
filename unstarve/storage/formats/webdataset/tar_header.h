#pragma once
// One 512-byte header block of a tar archive, and the bodies of the blocks that extend it: pure parsers.
//
// Layout (POSIX.1-2001 pax interchange format; GNU tar manual, "Basic Tar Format"), text unless said otherwise:
//
//   0    name                100     ended by NUL unless it is full
//   124  size                12      octal, or big-endian binary when the first bit is set (GNU)
//   148  checksum            8       octal sum of all bytes of the block, with blanks in these eight
//   156  type                1       '0' or NUL file, '5' folder, 'x' and 'g' pax, 'L' and 'K' GNU long name,
//                                  'S' sparse
//   257  magic               8       "ustar\0" "00" POSIX, "ustar  \0" GNU, anything else is the format of 1979 (v7)
//   345  prefix              155     POSIX only: goes before name with a '/'; GNU has other things here
//   482  more sparse blocks  1       GNU sparse only
//
// A pax body is records "<length> <key>=<value>\n", the length in decimal over the whole record.
//
// Checked:   the checksum (as unsigned and, as some old programs summed, as signed bytes), every number, names without
//            NUL. Not here: what lies where in the file; see tar_scanner.h.
// Threads:   pure functions. Failure: Error(kInput) with what was found, without file and offset (the caller adds
//            them).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/storage/source/first_bytes.h"

namespace unstarve {

struct TarHeader {
  char type = '0';   // NUL is given as '0'
  std::string name;  // as stored, with the prefix
  std::uint64_t size = 0;
};

// Whether the block says "ustar" and its checksum is right: what is looked for behind damage.
[[nodiscard]] bool is_tar_header(TarBlock block) noexcept;

// Throws for a wrong checksum or size. The magic may be missing (v7).
[[nodiscard]] TarHeader parse_tar_header(TarBlock block);

// Whether the bytes of a member of this type follow its header. Links, folders and devices may give a size but have
// none.
[[nodiscard]] bool tar_type_has_body(char type) noexcept;

// What a pax body says of the next member (type 'x') or of all that follow (type 'g').
struct PaxFields {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
  bool sparse = false;  // has GNU.sparse.* keys
};

// Adds the fields of `body` to `fields`; a key that comes again replaces. Throws for a record that is none.
void parse_pax(std::span<const std::uint8_t> body, PaxFields& fields);

}  // namespace unstarve
