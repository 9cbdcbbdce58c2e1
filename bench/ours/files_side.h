#pragma once
// What the sides that work on encoded images in memory share: the files of the job's "data", and the turns that the
// threads take.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/ours/side.h"

namespace unstarve::bench {

class FilesSide : public Side {
 public:
  // Copies the encoded images of job["data"] to memory of their own; job["cores"] threads.
  explicit FilesSide(const Job& job);

  nlohmann::json check(const std::optional<std::string>&) override { return {{"images", files_.size()}}; }

 protected:
  // The number of the next file of a thread; each goes through all of them.
  std::size_t advance(int thread);

  // Of each file; empty for one that can have none.
  [[nodiscard]] std::vector<std::vector<std::uint8_t>> scan_indexes() const;

  std::vector<std::vector<std::uint8_t>> files_;
  int threads_;

 private:
  std::vector<std::size_t> next_;
};

}  // namespace unstarve::bench
