#pragma once
// Walks the headers of a tar archive and tells where the regular files in it lie.
//
//   | header | body, filled to 512 | header | body | ... | two zero blocks |        a file
//   | 'x' header | pax body | header | body |                                       with a long name or size (POSIX)
//   | 'L' header | name | header | body |                                           with a long name (GNU)
//
// Formats:   v7, ustar, GNU (long names, binary sizes), pax. Folders, links, devices are passed over. Sparse files are
//            told as damage: their bytes are not stored as they are (pack them without --sparse).
// Damage:    costs what it touches. Behind a header that is none the scan goes on at the next block that says "ustar"
//            and has a right checksum; a header inside an archive that is itself a member may be taken for one then.
//            A member that reaches beyond the end of the file is damage up to there: a cut archive keeps its whole
//            members, and what lies behind a size that lies under a right checksum is lost with it.
// Zeros:     zero blocks are passed over wherever they are, so archives that were joined with `cat` are read to their
//            end (as `tar --ignore-zeros` does). Archives without the closing zero blocks are taken.
// Names:     as stored. One that is absolute or has a ".." in its path is told as damage: nothing is unpacked here, but
//            names become keys, and keys become paths when samples are written out.
// Cost:      of a mapped archive the headers and the last byte of each member are touched. Memory: extended headers are
//            at most kMaxTarExtendedBytes.
// Threads:   one at a time. Failure: Error(kIo) of the source; what is wrong with the archive is told as events.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/storage/bytes/forward_bytes.h"
#include "unstarve/storage/formats/webdataset/tar_header.h"

namespace unstarve {

inline constexpr std::uint64_t kMaxTarExtendedBytes = std::uint64_t{1} << 20;

struct TarEvent {
  enum class Kind { kFile, kDamage, kEnd };
  Kind kind = Kind::kEnd;
  std::string name;                    // of a file, and of one that is refused for its name; else empty
  std::uint64_t header = 0;            // where the block that describes it lies, directly before its bytes
  std::uint64_t data = 0;              // where its bytes lie
  std::uint64_t bytes = 0;             // how many
  std::span<const std::uint8_t> body;  // its bytes until the next call of next(); empty beyond kForwardPieceBytes
  std::string reason;                  // of damage, which is [header, header + bytes)
};

class TarScanner {
 public:
  // Borrows `bytes`.
  explicit TarScanner(ForwardBytes& bytes) : bytes_(bytes) {}

  // The next file or damage in the order of the archive, kEnd (for ever) after the last. `event` is reused.
  void next(TarEvent& event);

 private:
  // What extended headers said of the member that follows.
  struct Pending {
    std::uint64_t begin = 0;
    bool any = false;
    std::string long_name;
    PaxFields pax;
  };

  bool step(TarEvent& event);
  bool take_extended(const TarHeader& header, TarEvent& event);
  bool take_member(const TarHeader& header, TarEvent& event);
  std::uint64_t look_at_body(std::uint64_t size, TarEvent& event);
  [[nodiscard]] std::string name_of(const TarHeader& header, const Pending& told) const;
  bool damaged(std::uint64_t begin, std::uint64_t end, std::string reason, TarEvent& event);
  void skip_sparse_map();
  void skip_to_header();
  // Shorter at the end.
  [[nodiscard]] std::span<const std::uint8_t> block_at(std::uint64_t offset);

  ForwardBytes& bytes_;
  std::uint64_t at_ = 0;
  Pending pending_;
  PaxFields global_;
};

// Where the extension of `path` begins (behind the dot) by the rule of the webdataset package: the first dot of the
// base name, which may not be its first character; npos when there is none. The key is what stands before the dot.
[[nodiscard]] std::size_t tar_extension_at(std::string_view path) noexcept;

// Whether the webdataset package passes over this member: "__name__", alone or as the first folder.
[[nodiscard]] bool is_tar_metadata(std::string_view path) noexcept;

}  // namespace unstarve
