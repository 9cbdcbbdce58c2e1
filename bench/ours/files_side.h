#pragma once
// Base of the sides that process encoded images in memory: loads the files and distributes them over threads.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/ours/side.h"

namespace unstarve::bench {

class FilesSide : public Side {
 public:
  // Copies the encoded images of job["data"] to memory; uses job["cores"] threads.
  explicit FilesSide(const Job& job);

  nlohmann::json check(const std::optional<std::string>&) override { return {{"images", files_.size()}}; }

 protected:
  // Returns the next file index of a thread; each thread cycles through all files.
  std::size_t advance(int thread);

  // The scan index of each file; empty for files that cannot have one.
  [[nodiscard]] std::vector<std::vector<std::uint8_t>> scan_indexes() const;

  std::vector<std::vector<std::uint8_t>> files_;
  int threads_;

 private:
  std::vector<std::size_t> next_;
};

}  // namespace unstarve::bench
