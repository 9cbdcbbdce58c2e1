#include "unstarve/jobs/ladder/rung.h"
#include "unstarve/pipeline/spec/pass_switches.h"

// Decodes JPEGs at 1/2, 1/4 or 1/8 if the crop is at least that much larger than the target. Approximate: the low-pass
// of the inverse DCT replaces part of the antialiasing filter.
namespace unstarve {
namespace {

std::string not_applicable(const RungContext& context, const Settings& current) {
  if (!context.encoded) return "samples are stored as pixels";
  if (is_enabled(current.pipeline, "scale_into_decode")) return "already enabled";
  for (const OpSpec& operation : current.pipeline.operations)
    if (operation.name == "random_resized_crop" || operation.name == "resize") return {};
  return "no operation reduces the image size";
}

std::vector<Candidate> candidates(const RungContext&, const Settings& current) {
  Settings settings = current;
  settings.pipeline.passes["scale_into_decode"] = true;
  return {{settings, "full size -> power-of-two size"}};
}

}  // namespace

const Rung kReducedScaleRung{"reduced decode scale", false, true, not_applicable, candidates};

}  // namespace unstarve
