#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

// Names that are told; data sets may have hundreds.
constexpr std::size_t kTold = 8;

Decision apply(Plan& plan, const PassInput&) {
  const std::vector<std::string> unread = plan.dataset->unread_fields();
  if (unread.empty()) return {false, "the records have image and label alone, or no schema that would name more"};
  const std::vector<std::string> told(unread.begin(),
                                      unread.begin() + static_cast<std::ptrdiff_t>(std::min(unread.size(), kTold)));
  return {true, fmt::format("{} of {} columns are not read: {}{}", unread.size(),
                            unread.size() + plan.dataset->fields().size(), fmt::join(told, ", "),
                            told.size() < unread.size() ? ", ..." : "")};
}

}  // namespace

const Pass kDeadFieldRemovalPass{"dead_field_removal",
                                 true,
                                 "reads image and label of the records, no other columns",
                                 apply,
                                 nullptr,
                                 "nothing would use the other columns"};

}  // namespace unstarve
