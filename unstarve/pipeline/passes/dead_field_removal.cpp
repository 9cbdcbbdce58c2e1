#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

// Switched off: make_plan() puts the data set behind with_all_fields(), before anything is measured.

// Names that are told; data sets may have hundreds.
constexpr std::size_t kDryRun = 8;

Decision apply(Plan& plan, const PassInput&) {
  const std::vector<std::string> unread = plan.dataset->unread_fields();
  if (unread.empty()) return {false, "no schema names more than image and label; what lies beside them is not read"};
  const std::vector<std::string> told(unread.begin(),
                                      unread.begin() + static_cast<std::ptrdiff_t>(std::min(unread.size(), kDryRun)));
  return {true, fmt::format("{} of {} columns are not read: {}{}", unread.size(),
                            unread.size() + plan.dataset->fields().size(), fmt::join(told, ", "),
                            told.size() < unread.size() ? ", ..." : "")};
}

}  // namespace

const Pass kDeadFieldRemovalPass{"dead_field_removal", true, "reads image and label of the records, no other columns",
                                 apply};

}  // namespace unstarve
