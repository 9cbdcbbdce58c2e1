#include "unstarve/ops/gpu/batch_recorder.h"

#include "unstarve/core/format_error.h"

namespace unstarve {

BatchRecorder::BatchRecorder(std::span<const OpSpec> specs, std::span<const std::unique_ptr<Operation>> operations,
                             Size output, std::size_t first)
    : operations_(operations), output_(output), first_(first) {
  for (std::size_t i = first; i < specs.size(); ++i) {
    if (!operations[i]->runs_on_gpu())
      throw argument_error(
          "operations[{}]: operation {} has no kernel for GPUs; run it and the ones before it on the host", i,
          specs[i].name);
  }
  scratch_.record_with(&recorder_);
}

void BatchRecorder::add(const SourceImage& image, std::uint64_t seed, std::uint32_t draw, std::uint64_t id,
                        std::size_t first) {
  Frame frame = recorder_.begin(image);
  for (std::size_t i = first; i < operations_.size(); ++i) {
    Random random(seed, draw, id, static_cast<std::uint32_t>(i));
    frame.crop(operations_[i]->select(frame.size(), random));
    operations_[i]->apply(frame, random, scratch_);
  }
  if (frame.size() != output_) {
    throw input_error("image of {}x{} pixels after the operations; expected {}x{}, the size of the images of the batch",
                      frame.width, frame.height, output_.width, output_.height);
  }
  recorder_.finish(frame);
}

}  // namespace unstarve
