#pragma once
// Finds out that a consumer waits for itself: it holds every slot there can be, and asks for another.
//
// Threads: the consumer's.

#include <cstdint>
#include <optional>

namespace unstarve {

class HeldWatch {
 public:
  explicit HeldWatch(std::int64_t patience_ns) : patience_ns_(patience_ns) {}

  // A look amid one wait, at `now_ns`: true for the first one at which all were held for `patience_ns` of looks, and
  // never again.
  [[nodiscard]] bool look(bool all_held, std::int64_t now_ns) {
    if (!all_held) {
      reset();
      return false;
    }
    if (!since_ns_) since_ns_ = now_ns;
    if (told_ || now_ns - *since_ns_ < patience_ns_) return false;
    return told_ = true;
  }
  void reset() { since_ns_.reset(); }  // the wait is over

 private:
  const std::int64_t patience_ns_;
  std::optional<std::int64_t> since_ns_;
  bool told_ = false;
};

}  // namespace unstarve
