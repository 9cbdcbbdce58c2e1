#pragma once
// A Loader as a source of batches for training and evaluation.
//
// Ownership: owns its loader; the batch handed out last is held until the next one is asked for.

#include <memory>

#include "unstarve/pipeline/loader/loader.h"
#include "unstarve/train/loop.h"

namespace unstarve {

class LoaderSource final : public BatchSource {
 public:
  // `output` is what the loader's spec says of its batches.
  LoaderSource(std::unique_ptr<Loader> loader, const StoreFormat& output);
  [[nodiscard]] bool next(HostBatch& batch) override;
  [[nodiscard]] Loader& loader() { return *loader_; }

 private:
  std::unique_ptr<Loader> loader_;
  StoreFormat output_;
  std::optional<Batch> current_;  // destroyed before the loader
};

}  // namespace unstarve
