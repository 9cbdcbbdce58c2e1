#include "unstarve/storage/dataset/label_notices.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

// With fewer different texts, classes of one or two records are plausible.
constexpr std::size_t kFewTexts = 50;

// Whether `text` is a list of two or more of `texts`.
bool is_joined(std::string_view text, const std::set<std::string_view>& texts) {
  if (text.find(',') == std::string_view::npos) return false;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!texts.contains(part)) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

void report_captions(const std::string& name, const std::string& format, std::size_t different_texts,
                     std::uint64_t records) {
  if (different_texts <= kFewTexts || different_texts <= records / 2) return;
  emit_notice(
      fmt::format("labels of {} ({}): found {} different texts in {} records, each a class; expected class names that "
                  "repeat. Use labels=None (YAML: source.labels: none; path: #label=none) if they are captions.",
                  name, format, different_texts, records));
}

void report_joined(const std::string& name, const std::string& format, std::span<const std::string> texts) {
  const std::set<std::string_view> all(texts.begin(), texts.end());
  const auto joined = std::ranges::find_if(texts, [&](const std::string& text) { return is_joined(text, all); });
  if (joined == texts.end()) return;
  emit_notice(fmt::format(
      "labels of {} ({}): found the class '{}', whose parts are classes, too; expected one class per image. "
      "Each of these texts is a class of its own; images with several labels are not supported.",
      name, format, *joined));
}

}  // namespace

void report_text_labels(const std::string& name, const std::string& format, std::span<const std::string> texts,
                        std::uint64_t records) {
  report_captions(name, format, texts.size(), records);
  report_joined(name, format, texts);
}

}  // namespace unstarve
