#include <fmt/format.h>

#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/edit.h"
#include "unstarve/pipeline/plan/scan_index_files.h"

namespace unstarve {
namespace {

std::string not_used_text(const ScanIndexFacts& facts) {
  if (facts.not_used.empty()) return "";
  if (facts.not_used.size() == 1) return "; " + facts.not_used[0];
  return fmt::format("; {}, and {} more like it", facts.not_used[0], facts.not_used.size() - 1);
}

std::string applied_reason(const Plan& plan) {
  const ScanIndexFacts& facts = plan.facts.scan_index;
  std::string text = "a crop of a baseline JPEG decodes only its own MCU rows and columns; ";
  const bool all_packed = facts.packed_records > 0 && facts.packed_records == plan.facts.records;
  if (all_packed)
    text += "indexes are stored next to the shards";
  else if (facts.packed_records > 0)
    text += fmt::format("indexes of {} of {} records are stored next to their shards", facts.packed_records,
                        plan.facts.records);
  if (!facts.files.empty())
    text += fmt::format("{}cached in {}, built during the first epoch",
                        facts.packed_records == 0 ? "indexes are " : ", others are ", facts.shown_file.string());
  return text + not_used_text(facts);
}

}  // namespace

Rewrite pass_scan_index(Plan plan, const PassContext&) {
  const DecodeStep* const decode = decode_step(plan);
  if (decode == nullptr || decode->region != DecodeRegion::kSelected)
    return {std::move(plan), false, "images are not decoded in part"};
  const Size image = plan.facts.first.header.size;
  if (std::int64_t{image.width} * image.height < kLeastIndexedPixels) {
    std::string reason = fmt::format("images of {}x{} pixels are decoded as fast without", image.width, image.height);
    return {std::move(plan), false, std::move(reason)};
  }
  const ScanIndexFacts& facts = plan.facts.scan_index;
  if (facts.files.empty() && facts.packed_records == 0) {
    std::string reason = facts.why_no_file + not_used_text(facts);
    return {std::move(plan), false, std::move(reason)};
  }
  decode_step(plan)->index = ScanIndexUse::kUse;
  std::string reason = applied_reason(plan);
  return {std::move(plan), true, std::move(reason)};
}

}  // namespace unstarve
