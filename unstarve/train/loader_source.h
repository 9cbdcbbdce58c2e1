#pragma once
// A Loader as a source of batches for training and evaluation.
//
// Ownership: owns its loader; the batch handed out last is held until the next one is asked for.

#include <memory>

#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/train/loop.h"

namespace unstarve {

class LoaderSource final : public BatchSource {
 public:
  explicit LoaderSource(std::unique_ptr<Loader> loader);
  [[nodiscard]] bool next(HostBatch& batch) override;
  [[nodiscard]] Loader& loader() { return *loader_; }

 private:
  std::unique_ptr<Loader> loader_;
  StoreFormat output_;            // what the loader's plan says of its batches
  std::optional<Batch> current_;  // destroyed before the loader
};

}  // namespace unstarve
