#include "unstarve/train/loader_source.h"

#include <utility>

#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

LoaderSource::LoaderSource(std::unique_ptr<Loader> loader)
    : loader_(std::move(loader)), output_(loader_->plan().output) {}

bool LoaderSource::next(HostBatch& batch) {
  current_.reset();  // the loader may be waiting for its slot
  current_ = loader_->next();
  if (!current_) return false;
  batch = {current_->pixels(), current_->labels(), current_->size(), output_, current_->pinned(), current_->targets()};
  return true;
}

}  // namespace unstarve
