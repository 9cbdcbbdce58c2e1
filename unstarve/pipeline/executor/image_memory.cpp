#include "unstarve/pipeline/executor/image_memory.h"

#include "unstarve/core/format_error.h"

namespace unstarve {

std::uint64_t ImageMemory::borrowed() const {
  std::lock_guard lock(mutex_);
  return plan_.larger_images - free_;
}

std::uint64_t ImageMemory::borrow(std::uint64_t bytes, Size image) {
  if (bytes <= plan_.worker) return 0;
  const std::uint64_t lacking = bytes - plan_.worker;
  if (lacking > plan_.larger_images)
    throw memory_error(
        "an image of {}x{} pixels needs {:.1f} MB while it is processed; expected at most {:.1f} MB, what "
        "execution.memory_limit_mb: {} leaves for an image. Set it to {} or more.",
        image.width, image.height, static_cast<double>(bytes) / 1e6,
        static_cast<double>(plan_.worker + plan_.larger_images) / 1e6, plan_.limit / 1'000'000,
        limit_for_larger_image(plan_.needs, lacking));
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return free_ >= lacking; });
  free_ -= lacking;
  return lacking;
}

void ImageMemory::give_back(std::uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    free_ += bytes;
  }
  returned_.notify_all();
}

}  // namespace unstarve
