#pragma once
// Scans the headers of a tar archive and reports the offsets of its regular files.
//
//   | header | body, padded to 512 | header | body | ... | two zero blocks |        a file
//   | 'x' header | pax body | header | body |                                       with a long name or size (POSIX)
//   | 'L' header | name | header | body |                                           with a long name (GNU)
//
// Formats:   v7, ustar, GNU (long names, binary sizes), pax. Folders and devices are skipped, links are reported
//            without their targets. Sparse files are damage, because their bytes are not stored contiguously.
// Damage:    after an invalid header the scan continues at the next block with the magic "ustar" and a valid checksum;
//            this may be a header inside of a member that is itself an archive. A member that exceeds the file is
//            damage up to the end of the file: a truncated archive keeps its complete members. A wrong size with a
//            valid checksum makes all following members unreadable.
// Zeros:     zero blocks are skipped anywhere, so archives joined with `cat` are read completely (like
//            `tar --ignore-zeros`). Closing zero blocks are optional.
// Names:     as stored. An absolute name or one with a component ".." is reported as damage: nothing is unpacked here,
//            but names become keys, and keys become paths when samples are written.
// Cost:      for a mapped archive, the headers and the last byte of each member are read. Memory: extended headers
//            of at most kMaxTarExtendedBytes.
// Threads:   one at a time. Failure: Error(kIo) of the source; problems of the archive are reported as events.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/storage/bytes/forward_bytes.h"
#include "unstarve/storage/formats/webdataset/tar_header.h"

namespace unstarve {

inline constexpr std::uint64_t kMaxTarExtendedBytes = std::uint64_t{1} << 20;

struct TarEvent {
  enum class Kind { kFile, kLink, kDamage, kEnd };
  Kind kind = Kind::kEnd;
  std::string name;                    // of a file or link, or of a member rejected for its name; else empty
  std::uint64_t header = 0;            // offset of the header block, directly before the body
  std::uint64_t data = 0;              // offset of the body
  std::uint64_t bytes = 0;             // size of the body
  std::span<const std::uint8_t> body;  // valid until the next call of next(); empty if larger than kForwardPieceBytes
  std::string reason;                  // of damage, which is the range [header, header + bytes); "a hard link"
};

class TarScanner {
 public:
  // Borrows `bytes`.
  explicit TarScanner(ForwardBytes& bytes) : bytes_(bytes) {}

  // Sets `event` to the next file, link or damage in archive order; kEnd after the last.
  void next(TarEvent& event);

 private:
  // Fields of extended headers for the next member.
  struct Pending {
    std::uint64_t begin = 0;
    bool any = false;
    std::string long_name;
    PaxFields pax;
  };

  bool step(TarEvent& event);
  bool take_extended(const TarHeader& header, TarEvent& event);
  bool take_member(const TarHeader& header, TarEvent& event);
  bool take_link(const TarHeader& header, const Pending& extended, TarEvent& event);
  std::uint64_t find_body(std::uint64_t size, TarEvent& event);
  [[nodiscard]] std::string name_of(const TarHeader& header, const Pending& extended) const;
  bool damaged(std::uint64_t begin, std::uint64_t end, std::string reason, TarEvent& event);
  void skip_sparse_map();
  void skip_to_header();
  // Shorter than a block at the end.
  [[nodiscard]] std::span<const std::uint8_t> block_at(std::uint64_t offset);

  ForwardBytes& bytes_;
  std::uint64_t offset_ = 0;
  Pending pending_;
  PaxFields global_;
};

// Index of the extension in `path`, by the rule of the webdataset package: after the first dot of the base name, which
// must not be its first character; npos if there is none. The key of the sample is the part before the dot.
[[nodiscard]] std::size_t tar_extension_at(std::string_view path) noexcept;

// Whether the webdataset package skips this member: "__name__", alone or as the first folder.
[[nodiscard]] bool is_tar_metadata(std::string_view path) noexcept;

}  // namespace unstarve
