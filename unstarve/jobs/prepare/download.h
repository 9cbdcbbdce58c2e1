#pragma once
// Fetches one object into a file, in pieces that are kept: killed at any moment, the same call goes on from there.
//
//   PATH.partial          what has come so far, front to back
//   PATH.partial.json     of which object: URL, length, a hash of its ETag; another one begins anew
//   PATH                  when it is whole
//
// Pieces grow from 256 KiB with what is there, to 32 MiB, so a kill costs at most half of what was fetched. A
// connection that breaks is taken up within the piece by the store (storage/remote/remote.h). http(s)://, s3://, gs://.
//
// Threads:   one call at a time per path. Memory: one piece.
// Failure:   Error(kInput) for an object of another length than published, before anything is fetched; Error(kIo);
//            Error(kCancelled) when `stop` asks. What has come stays. Error(kMissing) in a build without libcurl.
// Cost:      a server that ignores ranges is read from the front for every piece.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

namespace unstarve {

struct DownloadResult {
  std::uint64_t bytes = 0;
  std::uint64_t resumed_from = 0;  // of which so many had come before this call
};

// `expected_bytes`: 0 for any. `advanced` is told how many bytes have come since it was told last, those of an earlier
// call included.
DownloadResult download(const std::string& url, const std::filesystem::path& path, std::uint64_t expected_bytes,
                        const std::function<void(std::uint64_t bytes)>& advanced = {}, std::stop_token stop = {});

}  // namespace unstarve
