#include "unstarve/pipeline/executor/batch.h"

#include "unstarve/pipeline/delivery/delivery.h"

namespace unstarve {

void Batch::Release::operator()(Slot* slot) const { delivery->release(*slot); }

const Slot& Batch::slot() const {
  static const Slot empty;
  return slot_ ? *slot_ : empty;
}

const std::uint8_t* Batch::pixels() const { return slot_ ? slot_->arrays.memory->data() : nullptr; }
std::size_t Batch::pixel_bytes() const { return slot().delivered.pixel_bytes; }
std::span<const std::int64_t> Batch::labels() const { return {slot().arrays.labels.data(), samples()}; }
std::span<const float> Batch::targets() const { return {slot().arrays.targets.data(), samples() * classes()}; }
std::size_t Batch::classes() const { return slot().arrays.classes(); }
std::span<const std::uint64_t> Batch::ids() const { return {slot().arrays.ids.data(), samples()}; }
std::size_t Batch::samples() const { return slot().delivered.samples; }
std::size_t Batch::valid() const { return slot().delivered.valid; }
Size Batch::size() const { return slot().delivered.size; }
std::span<const PixelExtent> Batch::sizes() const {
  return std::span(slot().arrays.sizes).first(slot().arrays.sizes.empty() ? 0 : samples());
}
std::span<const FileExtent> Batch::files() const {
  return std::span(slot().arrays.files).first(slot().arrays.files.empty() ? 0 : samples());
}
std::uint32_t Batch::epoch() const { return slot().batch.epoch; }
std::uint64_t Batch::index() const { return slot().batch.index; }
bool Batch::last_of_epoch() const { return slot().batch.last_of_epoch; }
bool Batch::pinned() const { return slot_ && slot_->arrays.memory->pinned(); }

}  // namespace unstarve
