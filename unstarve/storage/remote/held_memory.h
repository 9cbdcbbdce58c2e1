#pragma once
// Objects that are held in memory as a whole: those of servers that ignore range requests or report no size.
//
// Threads: reserve() and total() may be called from any thread; an object belongs to one thread at a time.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace unstarve::remote {

// Objects up to this size are held, up to the total of the process (RemoteOptions::held_bytes). Larger ones are
// transferred from their beginning for every read, or rejected if their size is unknown.
inline constexpr std::uint64_t kHeldObjectBytes = std::uint64_t{256} << 20;

// A share of the memory for held objects, counted until it is destroyed.
class HeldMemory {
 public:
  // Empty if the objects of this process would have more than `limit` bytes together.
  [[nodiscard]] static std::optional<HeldMemory> reserve(std::uint64_t bytes, std::uint64_t limit);
  [[nodiscard]] static std::uint64_t total() noexcept;  // bytes

  HeldMemory(HeldMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  HeldMemory& operator=(HeldMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HeldMemory();

 private:
  explicit HeldMemory(std::uint64_t bytes) noexcept : bytes_(bytes) {}

  std::uint64_t bytes_;
};

enum class HeldCase { kNoRanges, kTooLarge, kUnsized };

// Emits a notice about the object `name`, once per process for each case: not for every shard.
void report_held(const std::string& name, HeldCase object, std::uint64_t held_bytes);

}  // namespace unstarve::remote
