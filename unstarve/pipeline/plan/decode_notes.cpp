#include "unstarve/pipeline/plan/decode_notes.h"

#include <fmt/format.h>

#include "unstarve/codecs/common/orientation.h"
#include "unstarve/ops/resize/resize.h"

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

bool applied(const Plan& plan, std::string_view pass) {
  for (const PassNote& note : plan.passes)
    if (note.name == pass) return note.applied;
  return false;
}

std::string scale_reason(const Plan& plan, const ImageHeader& header, const DecodeHint& hint, const DecodePlan& how) {
  if (!can_reduce(header.encoding)) return fmt::format("{} is not reduced", to_string(header.encoding));
  if (!plan.scale_into_decode) return "the pass scale_into_decode is not applied";
  if (!lies_within(hint.selected, header.size)) return "what is selected reaches beyond the image";
  const std::string target = fmt::format("{} are resized to {}", text_of(hint.selected.size()), text_of(hint.target));
  if (how.reduction > 1) return fmt::format("{}, and 1/{} has as many pixels", target, how.reduction);
  return target + ", and 1/2 has fewer pixels";
}

std::string part_reason(const Plan& plan, const ImageHeader& header, const FirstSteps& steps, const DecodePlan& how) {
  std::string reason;
  if (how.crop.width > 0) {
    reason = fmt::format("what {} reads of {} in epoch 0", plan.spec.operations[0].name, text_of(header.size));
    if (steps.part)
      reason +=
          fmt::format(", for {} at ({}, {}) of {} that {} reads", text_of(steps.part->made.size()), steps.part->made.x,
                      steps.part->made.y, text_of(steps.part->to.size), plan.spec.operations[1].name);
  } else if (plan.crop_into_decode && !lies_within(steps.hint.selected, header.size)) {
    reason = "all of it: what is selected reaches beyond the image";
  } else {
    reason = "all of it: the pass crop_into_decode is not applied";
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
  if (how.index) return "each row of blocks from its last point before the part on; made where there is none";
  if (!applied(plan, "scan_index")) return "the pass scan_index is not applied";
  if (how.path != DecodePath::kOwn) return "only our own JPEG decoder has one";
  return "all of the image is read";
}

}  // namespace

FirstSteps first_steps(const Plan& plan, const std::vector<std::unique_ptr<Operation>>& operations,
                       const ImageHeader& header, FirstDraws& draws, Scratch& scratch) {
  FirstSteps steps;
  DecodeHint& hint = steps.hint;
  const Operation& first = *operations[0];
  hint.selected = first.select(header.size, draws.first);
  hint.target = first.output_size(hint.selected.size());
  hint.crop = plan.crop_into_decode;
  hint.reduce = plan.scale_into_decode;
  hint.index = plan.scans_indexed;
  if (!plan.crop_into_resize || !lies_within(hint.selected, header.size)) return steps;
  // A reduced image has other weights.
  if (plan_decode(header, hint).reduction > 1) return steps;
  const ResizeTo to = first.only_resizes(hint.selected.size()).value();
  Random second = draws.second;
  const Rect made = operations[1]->select(to.size, second);
  if (!lies_within(made, to.size) || made.width == 0 || made.height == 0) return steps;
  draws.second = second;
  steps.part = {hint.selected.size(), to, made};
  const Rect read = read_by(*steps.part, scratch);
  hint.selected = {hint.selected.x + read.x, hint.selected.y + read.y, read.width, read.height};
  hint.target = made.size();
  hint.reduce = false;
  return steps;
}

std::vector<DecodeNote> decode_notes(const Plan& plan) {
  if (!plan.encoded) return {};
  const ImageHeader& header = plan.first.header;
  FirstSteps steps;
  DecodeHint& hint = steps.hint;
  hint.selected = {0, 0, header.size.width, header.size.height};
  hint.target = header.size;
  if (plan.crop_into_decode || plan.scale_into_decode) {
    FirstDraws draws(plan.spec.order.seed, 0, plan.first.id);
    Scratch scratch;
    steps = first_steps(plan, plan.operations, header, draws, scratch);
  }
  const DecodePlan how = plan_decode(header, hint);
  const Size stored = stored_part(header, {}, how.reduction).size();
  std::string scale = how.reduction == 1 ? "full" : fmt::format("1/{}", how.reduction);
  return {{"path", to_string(how.path), path_reason(header, how)},
          {"scale", std::move(scale), scale_reason(plan, header, hint, how)},
          {"part",
           fmt::format("{} at ({}, {}) of {}", text_of(how.stored.size()), how.stored.x, how.stored.y, text_of(stored)),
           part_reason(plan, header, steps, how)},
          {"index", how.index ? "yes" : "no", index_reason(plan, how)}};
}

}  // namespace unstarve
