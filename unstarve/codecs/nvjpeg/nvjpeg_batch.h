#pragma once
// The files of one call of nvJPEG, as the arrays that it requires: those of the jobs that it accepted.
//
// Ownership: borrows files and destinations of the jobs. Threads: one at a time.
// Cost:      no allocation after the largest batch.

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/codecs/nvjpeg/nvjpeg_library.h"
#include "unstarve/core/image.h"

namespace unstarve {

struct NvjpegJob {
  std::span<const std::uint8_t> file;  // must stay valid until decode() has returned
  Size size;                           // from its header
  std::uint8_t* to = nullptr;          // device memory: interleaved RGB rows without gaps
};

class NvjpegBatch {
 public:
  void clear();
  // `index`: of the job among all jobs.
  void add(std::size_t index, const NvjpegJob& job);

  [[nodiscard]] std::size_t size() const { return indices_.size(); }
  [[nodiscard]] std::size_t index(std::size_t i) const { return indices_[i]; }
  [[nodiscard]] const unsigned char* const* files() const { return files_.data(); }
  [[nodiscard]] const std::size_t* lengths() const { return lengths_.data(); }
  [[nodiscard]] nvjpeg::Image* images() { return images_.data(); }

 private:
  std::vector<std::size_t> indices_;
  std::vector<const unsigned char*> files_;
  std::vector<std::size_t> lengths_;
  std::vector<nvjpeg::Image> images_;
};

}  // namespace unstarve
