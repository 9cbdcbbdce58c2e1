#include "unstarve/storage/dataset/notice.h"

#include <mutex>
#include <utility>

namespace unstarve {
namespace {

struct Notices {
  std::mutex mutex;
  NoticeSink sink;
};

// Never destroyed: threads of other process-wide objects may emit notices while the process exits.
Notices& notices() {
  static Notices* const all = new Notices;
  return *all;
}

}  // namespace

void set_notice_sink(NoticeSink sink) {
  const std::lock_guard lock(notices().mutex);
  notices().sink = std::move(sink);
}

void emit_notice(const std::string& text) {
  const std::lock_guard lock(notices().mutex);
  if (notices().sink) notices().sink(text);
}

}  // namespace unstarve
