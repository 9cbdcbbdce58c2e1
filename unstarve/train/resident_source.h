#pragma once
// Batches of images that the trainer keeps on its device: a small dataset is decoded once, and every batch is gathered
// there.
//
//   once:        loader (operations before the first random one) ──▶ Trainer::keep_images()
//   each batch:  order ──▶ samples, and rows and columns of their flips and crops ──▶ Trainer::load() gathers
//
// Batches are those of a Loader in exact order, bit by bit: the same order, the same random numbers, the same ranks and
// resume positions. Each rank keeps all images.
//
// Ownership: borrows the trainer. Threads: one at a time.
// Failure:   Error(kMemory) if the images need more than the limit; Error(kCancelled) if stopped; exceptions of the
//            loader, for example for a bad sample or images of different sizes.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/ops/gather_chain.h"
#include "unstarve/pipeline/order/progress.h"
#include "unstarve/pipeline/order/run_order.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/train/loop.h"

namespace unstarve {

class Loader;

// Why the batches of a pipeline cannot be gathered: "pipeline.batch_operations: found mixup; expected none"; empty:
// they can.
[[nodiscard]] std::string why_not_resident(const PipelineSpec& spec);
// The pipeline of the loader that decodes the images: each sample once, in storage order.
[[nodiscard]] PipelineSpec resident_images_of(const PipelineSpec& spec);

class ResidentSource final : public BatchSource {
 public:
  struct Run {
    PipelineSpec spec;  // why_not_resident() is empty
    OrderBasis basis;
    EpochPosition start;
  };
  // Takes all batches of `images`, a loader of resident_images_of(). `limit_bytes`: of the device's memory; 0: none.
  ResidentSource(Trainer& trainer, Run run, Loader& images, std::uint64_t limit_bytes, std::stop_token stop = {});

  [[nodiscard]] bool next(HostBatch& batch) override;
  // As Loader::progress().
  [[nodiscard]] RankProgress progress() const;

  [[nodiscard]] std::int64_t images() const { return static_cast<std::int64_t>(image_labels_.size()); }
  [[nodiscard]] Size image_size() const { return image_size_; }
  [[nodiscard]] std::uint64_t bytes() const;  // on the device

 private:
  void keep_images(Trainer& trainer, Loader& images, const std::stop_token& stop);

  PipelineSpec spec_;
  RunOrder order_;
  Size image_size_;
  GatherChain chain_;
  std::vector<std::int32_t> image_of_;      // by sample id
  std::vector<std::int64_t> image_labels_;  // by image
  EpochPosition next_;
  std::optional<Order::Epoch> epoch_;  // of next_; none before its first batch
  std::vector<std::int32_t> gather_;
  std::vector<std::int64_t> labels_;
};

}  // namespace unstarve
