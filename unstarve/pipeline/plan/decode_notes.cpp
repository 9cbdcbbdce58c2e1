#include "unstarve/pipeline/plan/decode_notes.h"

#include <fmt/format.h>

#include "unstarve/codecs/common/orientation.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/pipeline/plan/selection.h"

namespace unstarve {
namespace {

std::string text_of(Size size) { return fmt::format("{}x{}", size.width, size.height); }

std::string sampling_of(const ImageHeader& header) {
  if (header.components == 1) return "greyscale";
  if (header.horizontal == 1) return header.vertical == 1 ? "4:4:4" : "4:4:0";
  return header.vertical == 1 ? "4:2:2" : "4:2:0";
}

std::string path_reason(const ImageHeader& header, const DecodePlan& how) {
  switch (header.jpeg) {
    case JpegKind::kNone: return fmt::format("a {} file", to_string(header.encoding));
    case JpegKind::kBaseline: break;
    case JpegKind::kProgressive: return "a progressive JPEG file";
    case JpegKind::kArithmetic: return "an arithmetic-coded JPEG file";
    case JpegKind::kScans: return "a JPEG file of several scans";
    case JpegKind::kDepth: return "a JPEG file of more than 8 bits";
    case JpegKind::kColour: return "a JPEG file that is neither greyscale nor YCbCr";
    case JpegKind::kSampling:
      return fmt::format("a JPEG file sampled {}x{}, other than 4:4:4, 4:2:2, 4:4:0 and 4:2:0", header.horizontal,
                         header.vertical);
  }
  const std::string kind = "a baseline JPEG file, " + sampling_of(header);
  return how.path == DecodePath::kOwn ? kind : kind + ", too narrow for its chroma to be smoothed";
}

std::string scale_reason(const Plan& plan, const ImageHeader& header, const DecodeHint& hint, const DecodePlan& how) {
  if (!can_reduce(header.encoding)) return fmt::format("{} is not reduced", to_string(header.encoding));
  if (decode_step(plan)->reduction == Reduction::kNever) return "no pass permits a reduced scale";
  if (!is_within(hint.selected, header.size)) return "the selected region extends beyond the image";
  const std::string target = fmt::format("{} are resized to {}", text_of(hint.selected.size()), text_of(hint.target));
  if (how.reduction > 1) return fmt::format("{}, and 1/{} has as many pixels", target, how.reduction);
  return target + ", and 1/2 has fewer pixels";
}

std::string part_reason(const Plan& plan, const ImageHeader& header, const Selection& selection,
                        const DecodePlan& how) {
  std::string reason;
  if (how.crop.width > 0) {
    reason =
        fmt::format("the region that {} reads of {} in epoch 0", plan.spec.operations[0].name, text_of(header.size));
    if (selection.part)
      reason += fmt::format(", for {} at ({}, {}) of {} that {} reads", text_of(selection.part->made.size()),
                            selection.part->made.x, selection.part->made.y, text_of(selection.part->to.size),
                            plan.spec.operations[1].name);
  } else if (decode_step(plan)->region == DecodeRegion::kSelected && !is_within(selection.region, header.size)) {
    reason = "the whole image: the selected region extends beyond it";
  } else {
    reason = "the whole image: no pass selects a region";
  }
  if (how.path == DecodePath::kOwn) {
    const BaselinePlan& mcus = how.mcus;
    reason += fmt::format("; rows {} to {} of {} and columns {} to {} of {} of blocks of {}x{}", mcus.first_row,
                          mcus.end_row - 1, mcus.rows, mcus.first_column, mcus.end_column - 1, mcus.columns,
                          8 * header.horizontal, 8 * header.vertical);
  }
  return reason;
}

std::string index_reason(const Plan& plan, const DecodePlan& how) {
  if (how.index) return "each MCU row is decoded from its last indexed position before the region; built where missing";
  if (!uses_scan_index(plan)) return "no pass uses an index";
  if (how.path != DecodePath::kOwn) return "only our own JPEG decoder supports it";
  return "the whole image is decoded";
}

// Runs the select steps for the first image.
Selection first_selection(const Plan& plan) {
  const ImageHeader& header = plan.facts.first.header;
  const ScheduleStage& stage = plan.stages[0];
  const auto draws = [&](OpIndex op) { return Random(plan.spec.order.seed, 0, plan.facts.first.id, op); };
  Selection selection = select_all(header.size);
  Scratch scratch;
  for (const Step& step : plan.steps) {
    if (const auto* const select = std::get_if<SelectStep>(&step)) {
      Random random = draws(select->op);
      selection = select_for(*stage.operations[select->op], header.size, random);
    } else if (const auto* const through = std::get_if<SelectThroughStep>(&step)) {
      Random random = draws(through->op);
      (void)select_through({*through, stage.operations}, header, selection, random, scratch);
    } else if (std::holds_alternative<DecodeStep>(step) || std::holds_alternative<DecodeResizeStep>(step)) {
      break;
    }
  }
  return selection;
}

}  // namespace

std::vector<DecodeNote> decode_notes(const Plan& plan) {
  if (!plan.facts.encoded) return {};
  const ImageHeader& header = plan.facts.first.header;
  const Selection selection = first_selection(plan);
  const DecodeHint hint = decode_hint(*decode_step(plan), selection);
  const DecodePlan how = plan_decode(header, hint);
  const Size stored = stored_part(header, {}, how.reduction).size();
  std::string scale = how.reduction == 1 ? "full" : fmt::format("1/{}", how.reduction);
  return {{"path", to_string(how.path), path_reason(header, how)},
          {"scale", std::move(scale), scale_reason(plan, header, hint, how)},
          {"part",
           fmt::format("{} at ({}, {}) of {}", text_of(how.stored.size()), how.stored.x, how.stored.y, text_of(stored)),
           part_reason(plan, header, selection, how)},
          {"scan index", how.index ? "yes" : "no", index_reason(plan, how)}};
}

}  // namespace unstarve
