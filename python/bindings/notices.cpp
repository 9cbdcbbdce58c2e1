#include "python/bindings/notices.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include "unstarve/storage/dataset/notice.h"

namespace unstarve::python {
namespace {

struct Queue {
  std::mutex mutex;
  std::set<std::string> seen;
  std::deque<std::string> waiting;
  std::atomic<bool> any{false};
};

// Never destroyed: threads may emit notices while the process exits.
Queue& queue() {
  static Queue* const instance = new Queue;
  return *instance;
}

}  // namespace

void queue_notices() {
  set_notice_sink([](const std::string& text) {
    {
      const std::lock_guard lock(queue().mutex);
      if (!queue().seen.insert(text).second) return;
    }
    queue_notice(text);
  });
}

void queue_notice(const std::string& text) {
  const std::lock_guard lock(queue().mutex);
  queue().waiting.push_back(text);
  queue().any = true;
}

bool has_notice() { return queue().any; }

std::optional<std::string> take_notice() {
  if (!has_notice()) return std::nullopt;
  const std::lock_guard lock(queue().mutex);
  if (queue().waiting.empty()) return std::nullopt;
  std::string text = std::move(queue().waiting.front());
  queue().waiting.pop_front();
  queue().any = !queue().waiting.empty();
  return text;
}

}  // namespace unstarve::python
