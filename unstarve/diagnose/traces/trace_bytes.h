#pragma once
// The text of a trace file, front to back, inflated if it is compressed by gzip or Zstandard.
//
// Ownership: owns the map of the file and the decoder.
// Threads:   one.
// Failure:   Error(kIo) if the file cannot be opened; next() throws Error(kInput) where a compressed stream is damaged
//            or truncated.
// Cost:      an uncompressed file is one mapped piece; else a buffer of 1 MiB.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/local_bytes.h"
#include "unstarve/storage/bytes/stream_decoder.h"

namespace unstarve {

class TraceBytes {
 public:
  explicit TraceBytes(const std::string& path);

  // The next piece; empty at the end. Valid until the next call.
  [[nodiscard]] std::span<const std::uint8_t> next();
  // Starts again at the beginning.
  void rewind();

  // The stored bytes, not inflated.
  [[nodiscard]] std::span<const std::uint8_t> stored() const noexcept { return file_.mapped(); }
  [[nodiscard]] bool compressed() const noexcept { return compression_ != Compression::kNone; }
  [[nodiscard]] const std::string& name() const noexcept { return file_.name(); }

 private:
  LocalBytes file_;
  Compression compression_;
  std::unique_ptr<StreamDecoder> decoder_;
  std::vector<std::uint8_t> piece_;
  bool at_start_ = true;
};

}  // namespace unstarve
