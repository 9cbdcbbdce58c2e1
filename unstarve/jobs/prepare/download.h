#pragma once
// Downloads one object into a file, in pieces that stay on disk: after a kill at any moment the same call continues.
//
//   PATH.partial          the bytes downloaded so far, from the start
//   PATH.partial.json     identity of the object: URL, length, hash of the ETag; if it changes, the download restarts
//   PATH                  the complete file
//
// Piece sizes grow from 256 KiB to 32 MiB with the progress, so that a kill loses at most half of the download. The
// store reconnects within a piece (storage/remote/remote.h). Schemes: http(s)://, s3://, gs://, az://.
//
// Threads: one call at a time per path. Memory: one piece.
// Failure: Error(kInput) for an object with another length than published, before the download starts; Error(kIo);
//          Error(kCancelled) by `stop`. The partial file stays. Error(kMissing) in a build without libcurl.
// Cost:    a server that ignores range requests sends the whole prefix again for each piece.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

namespace unstarve {

struct DownloadResult {
  std::uint64_t bytes = 0;
  std::uint64_t resumed_from = 0;  // bytes downloaded by earlier calls
};

// `expected_bytes` 0: any length. `advanced` is called with the number of bytes since its last call, including those of
// earlier runs.
DownloadResult download(const std::string& url, const std::filesystem::path& path, std::uint64_t expected_bytes,
                        const std::function<void(std::uint64_t bytes)>& advanced = {}, std::stop_token stop = {});

}  // namespace unstarve
