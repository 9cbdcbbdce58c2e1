#pragma once
// Unpacks published archives: tar and zip, compressed or not, and single files as .gz, through libarchive.
//
//   archive ── member? ── inside/ ── leave_out ──▶ folder/...          the content of `inside` (everything without it)
//   archive of archives ── each ──▶ folder/NAME/... for NAME.tar       each whole or not there
//
// Refused:   members whose names are absolute or have a ".." in them, wherever they lie; links and devices; more bytes
//            than `limit_bytes` (a bomb), more members than kMaxMembers; anything that libarchive warns of.
// Left out:  what macOS adds (__MACOSX, ._NAME, .DS_Store).
// Atomic:    no: the caller unpacks beside and renames. With `each`, folders that are there are passed over, so that a
//            second call goes on.
//
// Threads:   one call at a time per folder. Memory: 1 MiB and libarchive's.
// Failure:   Error(kInput) with archive and member for what is refused or damaged, Error(kIo), Error(kCancelled).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace unstarve {

inline constexpr std::uint64_t kMaxMembers = 20'000'000;

struct UnpackRules {
  std::string name;    // of the archive as published: its ending tells what it is, without it a single file
  std::string member;  // as PublishedArchive
  std::string inside;
  bool each = false;
  std::vector<std::string> leave_out;
  std::uint64_t limit_bytes = 0;  // of all that is unpacked
};

struct UnpackCount {
  std::uint64_t files = 0, bytes = 0;  // written by this call
};

// Makes `folder`. `advanced` is told how many bytes of the archive have been read since it was told last.
UnpackCount unpack_archive(const std::filesystem::path& archive, const UnpackRules& rules,
                           const std::filesystem::path& folder,
                           const std::function<void(std::uint64_t bytes)>& advanced = {}, std::stop_token stop = {});

// What an archive may unpack to unless its catalogue knows better: photographs hardly shrink, JSON and digits some ten
// times.
[[nodiscard]] std::uint64_t default_unpack_limit(std::uint64_t archive_bytes) noexcept;

}  // namespace unstarve
