#include "notices.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "unstarve/observe/format.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve::cli {

Notices::Notices() {
  set_notice_sink([this](const std::string& text) {
    if (!told_.insert(text).second || told_.size() > 1) return;
    // Over the progress bar, which draws itself again.
    fmt::print(stderr, "{}unstarve: warning: {}\n", isatty(STDERR_FILENO) != 0 ? "\r\x1b[K" : "", printable(text));
  });
}

Notices::~Notices() {
  set_notice_sink({});
  if (told_.size() > 1) fmt::print(stderr, "unstarve: warning: and {} more like it\n", told_.size() - 1);
}

}  // namespace unstarve::cli
