#include "unstarve/storage/dataset/caption_notice.h"

#include <fmt/format.h>

#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

// With fewer different texts, classes of one or two records are plausible.
constexpr std::size_t kFewTexts = 50;

}  // namespace

void report_captions(const std::string& name, const std::string& format, std::size_t different_texts,
                     std::uint64_t records) {
  if (different_texts <= kFewTexts || different_texts <= records / 2) return;
  emit_notice(
      fmt::format("labels of {} ({}): found {} different texts in {} records, each a class; expected class names that "
                  "repeat. Use labels=None (YAML: source.labels: none; path: #label=none) if they are captions.",
                  name, format, different_texts, records));
}

}  // namespace unstarve
