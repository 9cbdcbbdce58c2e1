#pragma once
// A pass over the validation data, whose bad samples are left out and listed.
//
// Ownership: owns its loader; borrows the list. Threads: one at a time. Failure: as Loader; the list is then complete,
//            too.

#include <cstdint>
#include <memory>

#include "unstarve/jobs/training/bad_samples.h"
#include "unstarve/train/loader_source.h"

namespace unstarve {

class EvaluationSource final : public BatchSource {
 public:
  // Emits a notice with the first bad sample of `bad` that is one of validation data.
  EvaluationSource(std::unique_ptr<Loader> loader, BadSamples& bad);
  [[nodiscard]] bool next(HostBatch& batch) override;

 private:
  void list_bad();

  LoaderSource source_;
  BadSamples& bad_;
  std::uint64_t listed_ = 0;
};

}  // namespace unstarve
