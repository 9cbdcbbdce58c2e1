#include "unstarve/train/loader_source.h"

#include <utility>

#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

LoaderSource::LoaderSource(std::unique_ptr<Loader> loader, Samples samples)
    : loader_(std::move(loader)), samples_(samples), output_(loader_->plan().store().format) {}

bool LoaderSource::next(HostBatch& batch) {
  std::size_t count = 0;
  while (count == 0) {
    current_.reset();  // the loader may be waiting for its slot
    current_ = loader_->next();
    if (!current_) return false;
    count = samples_ == Samples::kAll ? current_->samples() : current_->valid();
  }
  batch = {current_->pixels(), current_->labels().first(count),
           current_->size(),   output_,
           current_->pinned(), current_->targets().first(count * current_->classes())};
  batch.epoch = current_->epoch();
  return true;
}

}  // namespace unstarve
