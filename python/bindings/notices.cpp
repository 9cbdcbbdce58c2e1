#include "python/bindings/notices.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include "unstarve/storage/dataset/notice.h"

namespace unstarve::python {
namespace {

struct Kept {
  std::mutex mutex;
  std::set<std::string> told;
  std::deque<std::string> waiting;
  std::atomic<bool> any{false};
};

// Never destroyed: threads may tell something while the process ends.
Kept& kept() {
  static Kept* const all = new Kept;
  return *all;
}

}  // namespace

void keep_notices() {
  set_notice_sink([](const std::string& text) {
    {
      const std::lock_guard lock(kept().mutex);
      if (!kept().told.insert(text).second) return;
    }
    keep_notice(text);
  });
}

void keep_notice(const std::string& text) {
  const std::lock_guard lock(kept().mutex);
  kept().waiting.push_back(text);
  kept().any = true;
}

std::optional<std::string> take_notice() {
  if (!kept().any) return std::nullopt;
  const std::lock_guard lock(kept().mutex);
  if (kept().waiting.empty()) return std::nullopt;
  std::string text = std::move(kept().waiting.front());
  kept().waiting.pop_front();
  kept().any = !kept().waiting.empty();
  return text;
}

}  // namespace unstarve::python
