#include "unstarve/pipeline/executor/batch.h"

#include "unstarve/pipeline/delivery/delivery.h"

namespace unstarve {

void Batch::Release::operator()(Slot* slot) const { delivery->release(*slot); }

const Slot& Batch::slot() const {
  static const Slot empty;
  return slot_ ? *slot_ : empty;
}

const std::uint8_t* Batch::pixels() const { return slot_ ? slot_->memory->data() : nullptr; }
std::size_t Batch::pixel_bytes() const { return slot().pixel_bytes; }
std::span<const std::int64_t> Batch::labels() const { return {slot().labels.data(), samples()}; }
std::span<const float> Batch::targets() const { return {slot().targets.data(), samples() * classes()}; }
std::size_t Batch::classes() const { return slot_ ? slot_->targets.size() / slot_->labels.size() : 0; }
std::span<const std::uint64_t> Batch::ids() const { return {slot().ids.data(), samples()}; }
std::size_t Batch::samples() const { return slot().kept; }
std::size_t Batch::valid() const { return slot().valid; }
Size Batch::size() const { return slot().size; }
std::span<const PixelExtent> Batch::sizes() const {
  return std::span(slot().sizes).first(slot().sizes.empty() ? 0 : samples());
}
std::span<const FileExtent> Batch::files() const {
  return std::span(slot().files).first(slot().files.empty() ? 0 : samples());
}
std::uint32_t Batch::epoch() const { return slot().epoch; }
std::uint64_t Batch::index() const { return slot().batch; }
bool Batch::last_of_epoch() const { return slot().last_of_epoch; }
bool Batch::pinned() const { return slot_ && slot_->memory->pinned(); }

}  // namespace unstarve
