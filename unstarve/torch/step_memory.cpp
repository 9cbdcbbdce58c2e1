#include "unstarve/torch/step_memory.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <c10/core/CPUAllocator.h>

#include "unstarve/core/memory/aligned.h"

namespace unstarve {
namespace {

thread_local bool in_scope = false;

class ReusingAllocator final : public c10::Allocator {
 public:
  // Never destroyed: tensors may outlive all other objects.
  static ReusingAllocator& instance() {
    static auto* const allocator = new ReusingAllocator;
    return *allocator;
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    void* const block = in_scope && bytes >= StepMemory::kLeastBytes ? take(bytes) : nullptr;
    if (block == nullptr) return others_->allocate(bytes);
    return {block, block, &release, c10::Device(c10::DeviceType::CPU)};
  }
  // For memory of either allocator.
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

  void add_user() {
    const std::lock_guard lock(mutex_);
    ++users_;
  }
  void remove_user() {
    const std::lock_guard lock(mutex_);
    if (--users_ > 0) return;
    kept_.clear();
    bytes_ = {bytes_.used, 0, bytes_.used};
  }
  [[nodiscard]] StepMemory::Bytes bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  ReusingAllocator() : others_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this); }

  // Null without memory.
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::optional<AlignedBytes> block = kept_block(bytes);
    if (!block) block = new_block(bytes);
    if (!block) return nullptr;
    void* const address = block->data();
    bytes_.used += block->capacity();
    used_.emplace(address, std::move(*block));
    return address;
  }

  // The smallest that fits and wastes at most an eighth; of equal ones the latest, which may still be in the cache.
  std::optional<AlignedBytes> kept_block(std::size_t bytes) {
    auto best = kept_.end();
    for (auto block = kept_.begin(); block != kept_.end(); ++block) {
      const std::size_t capacity = block->capacity();
      if (capacity < bytes || capacity > bytes + bytes / 8) continue;
      if (best == kept_.end() || capacity <= best->capacity()) best = block;
    }
    if (best == kept_.end()) return std::nullopt;
    AlignedBytes block = std::move(*best);
    kept_.erase(best);
    bytes_.kept -= block.capacity();
    return block;
  }

  // Returns kept blocks to the system first, the oldest ones, if there would be too much memory.
  std::optional<AlignedBytes> new_block(std::size_t bytes) {
    const std::size_t capacity = AlignedBytes::capacity_for(bytes);
    bytes_.most_used = std::max(bytes_.most_used, bytes_.used + capacity);
    auto end = kept_.begin();
    for (; end != kept_.end() && bytes_.used + bytes_.kept + capacity > StepMemory::most_held(bytes_.most_used); ++end)
      bytes_.kept -= end->capacity();
    kept_.erase(kept_.begin(), end);
    try {
      return AlignedBytes(bytes);
    } catch (const std::bad_alloc&) {
      return std::nullopt;
    }
  }

  static void release(void* address) {
    ReusingAllocator& self = instance();
    {
      const std::lock_guard lock(self.mutex_);
      if (const auto found = self.used_.find(address); found != self.used_.end()) {
        const std::size_t capacity = found->second.capacity();
        self.bytes_.used -= capacity;
        if (self.users_ > 0) {
          self.bytes_.kept += capacity;
          self.kept_.push_back(std::move(found->second));
        }
        self.used_.erase(found);
        return;
      }
    }
    self.others_->raw_deallocate(address);
  }

  c10::Allocator* const others_;
  std::mutex mutex_;
  int users_ = 0;
  StepMemory::Bytes bytes_;
  std::unordered_map<void*, AlignedBytes> used_;
  std::vector<AlignedBytes> kept_;  // in the order of their release
};

}  // namespace

StepMemory::StepMemory() { ReusingAllocator::instance().add_user(); }
StepMemory::~StepMemory() { ReusingAllocator::instance().remove_user(); }

StepMemory::Scope::Scope() : outer_(std::exchange(in_scope, true)) {}
StepMemory::Scope::~Scope() { in_scope = outer_; }

StepMemory::Bytes StepMemory::bytes() { return ReusingAllocator::instance().bytes(); }

}  // namespace unstarve
