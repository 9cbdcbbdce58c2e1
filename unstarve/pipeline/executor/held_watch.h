#pragma once
// Detects a consumer that holds every batch slot that can exist and requests another batch, which never comes.
//
// Threads: the consumer's.

#include <cstdint>
#include <optional>

namespace unstarve {

class HeldWatch {
 public:
  explicit HeldWatch(std::int64_t patience_ns) : patience_ns_(patience_ns) {}

  // Called repeatedly during a wait. True once in its lifetime, when all slots were held in all calls of the last
  // `patience_ns`.
  [[nodiscard]] bool check(bool all_held, std::int64_t now_ns) {
    if (!all_held) {
      reset();
      return false;
    }
    if (!since_ns_) since_ns_ = now_ns;
    if (reported_ || now_ns - *since_ns_ < patience_ns_) return false;
    return reported_ = true;
  }
  void reset() { since_ns_.reset(); }  // the wait has ended

 private:
  const std::int64_t patience_ns_;
  std::optional<std::int64_t> since_ns_;
  bool reported_ = false;
};

}  // namespace unstarve
