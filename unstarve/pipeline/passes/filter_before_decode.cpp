#include <fmt/format.h>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

bool selects(const SourceSpec& source) { return source.take || source.filter.by_label() || source.filter.by_header(); }

// The order has it from choose_samples(), which ran before and decodes every image where this is switched off.
Decision apply(Plan& plan, const PassInput&) {
  bool selected = selects(plan.spec.source);
  for (const SourceSpec& source : plan.spec.mix) selected = selected || selects(source);
  if (!selected) return {false, "no filter and no take"};
  return {true, fmt::format("{} of {} records take part, by the index and headers; the others are never decoded",
                            plan.samples->size(), plan.samples->records())};
}

}  // namespace

const Pass kFilterBeforeDecodePass{
    "filter_before_decode", true,
    "decides by the index and the headers which samples take part; without, each image is decoded first", apply};

}  // namespace unstarve
