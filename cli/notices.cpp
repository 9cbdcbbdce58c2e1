#include "notices.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "unstarve/observe/format.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve::cli {

Notices::Notices() {
  set_notice_sink([this](const std::string& text) {
    if (!seen_.insert(text).second || seen_.size() > 1) return;
    // Clear the progress bar, which is redrawn later.
    fmt::print(stderr, "{}unstarve: warning: {}\n", isatty(STDERR_FILENO) != 0 ? "\r\x1b[K" : "", printable(text));
  });
}

Notices::~Notices() {
  set_notice_sink({});
  if (seen_.size() > 1) fmt::print(stderr, "unstarve: warning: and {} more like it\n", seen_.size() - 1);
}

}  // namespace unstarve::cli
