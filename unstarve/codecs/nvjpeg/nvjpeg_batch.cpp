#include "unstarve/codecs/nvjpeg/nvjpeg_batch.h"

namespace unstarve {

void NvjpegBatch::clear() {
  indices_.clear();
  files_.clear();
  lengths_.clear();
  images_.clear();
}

void NvjpegBatch::add(std::size_t index, const NvjpegJob& job) {
  nvjpeg::Image image;
  image.channel[0] = job.to;
  image.pitch[0] = static_cast<std::size_t>(job.size.width) * kChannels;
  indices_.push_back(index);
  files_.push_back(job.file.data());
  lengths_.push_back(job.file.size());
  images_.push_back(image);
}

}  // namespace unstarve
