#include "unstarve/jobs/ladder/rung.h"
#include "unstarve/pipeline/spec/pass_switches.h"

// Decodes only the cropped part of an image; the pixels are the same.
namespace unstarve {
namespace {

std::string not_applicable(const RungContext& context, const Settings& current) {
  if (!context.encoded) return "samples are stored as pixels";
  if (is_enabled(current.pipeline, "crop_into_decode")) return "already enabled";
  if (current.pipeline.operations.empty() || current.pipeline.operations[0].name.find("crop") == std::string::npos ||
      current.pipeline.operations[0].name == "pad_crop")
    return "the first operation reads the whole image";
  return {};
}

std::vector<Candidate> candidates(const RungContext&, const Settings& current) {
  Settings settings = current;
  settings.pipeline.passes.erase("crop_into_decode");
  return {{settings, "whole image -> crop only"}};
}

}  // namespace

const Rung kCropOnlyDecodeRung{"crop-only decode", false, false, not_applicable, candidates};

}  // namespace unstarve
