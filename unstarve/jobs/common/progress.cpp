#include "unstarve/jobs/common/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/core/clock.h"
#include "unstarve/observe/format.h"

namespace unstarve {

ItemProgress::ItemProgress(const Progress& progress, std::uint64_t items, const char* name)
    : progress_(progress), items_(items), name_(name), start_ns_(steady_clock().now_ns()) {
  if (progress_ && items_ > 0) report(start_ns_);
}

void ItemProgress::add(std::uint64_t count) {
  done_ += count;
  const std::int64_t now = steady_clock().now_ns();
  if (progress_ && (done_ == items_ || now - reported_ns_ >= 100'000'000)) report(now);
}

void ItemProgress::report(std::int64_t now_ns) {
  reported_ns_ = now_ns;
  std::string what = fmt::format("{} of {} {}", done_, items_, name_);
  const double seconds = std::max(static_cast<double>(now_ns - start_ns_) / 1e9, 1e-3);
  if (done_ > 0) what += fmt::format(", {}/s", format_rate(static_cast<double>(done_) / seconds));
  progress_(what, static_cast<double>(done_) / static_cast<double>(items_));
}

}  // namespace unstarve
