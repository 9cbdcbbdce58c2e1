#include "unstarve/train/loader_source.h"

#include <utility>

namespace unstarve {

LoaderSource::LoaderSource(std::unique_ptr<Loader> loader, const StoreFormat& output)
    : loader_(std::move(loader)), output_(output) {}

bool LoaderSource::next(HostBatch& batch) {
  current_.reset();  // its slot may be what the loader waits for
  current_ = loader_->next();
  if (!current_) return false;
  batch = {current_->pixels(), current_->labels(), current_->size(), output_, current_->pinned(), current_->targets()};
  return true;
}

}  // namespace unstarve
