#pragma once
// Parses the 512-byte header block of a tar member and the bodies of extended headers.
//
// Layout (POSIX.1-2001 pax interchange format; GNU tar manual, "Basic Tar Format"), text unless stated otherwise:
//
//   0    name                100     NUL-terminated if shorter
//   124  size                12      octal, or big-endian binary if the first bit is set (GNU)
//   148  checksum            8       octal sum of all bytes of the block, with blanks in this field
//   156  type                1       '0' or NUL file, '5' folder, 'x' and 'g' pax, 'L' and 'K' GNU long name,
//                                  'S' sparse
//   257  magic               8       "ustar\0" "00" POSIX, "ustar  \0" GNU, anything else is the v7 format of 1979
//   345  prefix              155     POSIX only: prepended to name with a '/'; other fields in GNU
//   482  more sparse blocks  1       GNU sparse only
//
// A pax body consists of records "<length> <key>=<value>\n"; the decimal length is that of the whole record.
//
// Checked:   the checksum (over unsigned bytes, or signed bytes as in some old programs), numbers, NUL in names.
//            Offsets in the file are checked by tar_scanner.h.
// Threads:   pure functions. Failure: Error(kInput) without file and offset (the caller adds them).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/storage/source/first_bytes.h"

namespace unstarve {

struct TarHeader {
  char type = '0';   // NUL is returned as '0'
  std::string name;  // as stored, with the prefix
  std::uint64_t size = 0;
};

// Whether the block has the magic "ustar" and a valid checksum; used to find the next header after damage.
[[nodiscard]] bool is_tar_header(TarBlock block) noexcept;

// Throws for a wrong checksum or size. The magic may be missing (v7).
[[nodiscard]] TarHeader parse_tar_header(TarBlock block);

// Whether a body follows the header of this type. Links, folders and devices may have a size but have no body.
[[nodiscard]] bool tar_type_has_body(char type) noexcept;

// Fields of a pax header for the next member (type 'x') or all following members (type 'g').
struct PaxFields {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
  bool sparse = false;  // has GNU.sparse.* keys
};

// Adds the fields of `body` to `fields`; a repeated key replaces its value. Throws for an invalid record.
void parse_pax(std::span<const std::uint8_t> body, PaxFields& fields);

}  // namespace unstarve
