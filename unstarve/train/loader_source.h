#pragma once
// A Loader as a source of batches for training and evaluation.
//
// Ownership: owns its loader; holds the last batch until the next call of next().

#include <memory>
#include <optional>

#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/train/loop.h"

namespace unstarve {

class LoaderSource final : public BatchSource {
 public:
  // kOfRank: without the samples that fill up the last batches of ranks (Batch::valid()), for evaluation.
  enum class Samples { kAll, kOfRank };
  explicit LoaderSource(std::unique_ptr<Loader> loader, Samples samples = Samples::kAll);
  [[nodiscard]] bool next(HostBatch& batch) override;
  [[nodiscard]] Loader& loader() { return *loader_; }

 private:
  std::unique_ptr<Loader> loader_;
  Samples samples_;
  StoreFormat output_;            // format of the batches
  std::optional<Batch> current_;  // destroyed before the loader
};

}  // namespace unstarve
