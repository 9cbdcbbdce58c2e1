#pragma once
// For tests: damages each seek point of a compressed stream.

#include <catch2/catch.hpp>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/storage/testing/compressed_text.h"

namespace unstarve::testing {

// Flips one bit in each of the first `bytes` bytes of the points: reads give the text or throw Error(kInput).
inline void check_damaged_points(const IndexedStream& stream, const std::string& text, std::size_t bytes) {
  int wrong = 0;
  for (std::size_t at = 0; at < bytes; ++at) {
    std::string bad = stream.points;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    try {
      const auto output = open_inflated(stream.source, stream.compression, bytes_of(bad));
      if (output->size() < text.size()) continue;
      if (read_text(*output, 1'500'000, 100) != text.substr(1'500'000, 100)) ++wrong;
      if (read_text(*output, text.size() - 9, 9) != text.substr(text.size() - 9)) ++wrong;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
    }
  }
  CHECK(wrong == 0);
}

}  // namespace unstarve::testing
