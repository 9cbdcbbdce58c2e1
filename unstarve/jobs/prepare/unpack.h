#pragma once
// Unpacks published archives: tar and zip, compressed or not, and single files such as .gz, with libarchive.
//
//   archive ── member? ── inside/ ── leave_out ──▶ folder/...          the content of `inside` (everything without it)
//   archive of archives ── each ──▶ folder/NAME/... for NAME.tar       each complete or absent
//
// Rejected: absolute member names and names with ".."; links and devices; more than `limit_bytes` (archive bombs); more
//           than kMaxMembers members; archives with libarchive warnings.
// Skipped:  files that macOS adds (__MACOSX, ._NAME, .DS_Store).
// Atomic:   no; the caller unpacks to a temporary folder and renames. With `each`, existing folders are skipped, so
//           that a second call continues.
//
// Threads: one call at a time per folder. Memory: 1 MiB plus libarchive.
// Failure: Error(kInput) with archive and member for rejected or damaged archives, Error(kIo), Error(kCancelled).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace unstarve {

inline constexpr std::uint64_t kMaxMembers = 20'000'000;

struct UnpackRules {
  std::string name;    // published name of the archive; its extension selects the format, unknown: a single file
  std::string member;  // as in PublishedArchive
  std::string inside;
  bool each = false;
  std::vector<std::string> leave_out;
  std::uint64_t limit_bytes = 0;  // of all unpacked files
};

struct UnpackCount {
  std::uint64_t files = 0, bytes = 0;  // written by this call
};

// Creates `folder`. `advanced` is called with the number of archive bytes read since its last call.
UnpackCount unpack_archive(const std::filesystem::path& archive, const UnpackRules& rules,
                           const std::filesystem::path& folder,
                           const std::function<void(std::uint64_t bytes)>& advanced = {}, std::stop_token stop = {});

// The default limit of unpacked bytes. Photographs hardly compress; JSON and digits compress about ten times.
[[nodiscard]] std::uint64_t default_unpack_limit(std::uint64_t archive_bytes) noexcept;

}  // namespace unstarve
