#include "unstarve/jobs/settings/settings_file.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/spec/spec_document.h"
#include "unstarve/pipeline/spec/yaml_map.h"

namespace unstarve {
namespace {

// A spec has a few kilobytes; larger files are not read.
constexpr std::uintmax_t kMaxSpecBytes = 16 << 20;

}  // namespace

SpecFile detect_spec(const std::string& path) {
  std::error_code none;
  if (!(path.ends_with(".yaml") || path.ends_with(".yml")) || !std::filesystem::is_regular_file(path, none)) return {};
  if (std::filesystem::file_size(path, none) > kMaxSpecBytes) return {SpecKind::kNone, path + ": larger than 16 MiB"};
  const std::string text = read_text_file(path);
  try {
    const YamlMap map = YamlMap::parse(text, path);
    if (map.has("pipeline")) return {SpecKind::kSettings, ""};
    if (map.has("source") || map.has("mix")) return {SpecKind::kPipeline, ""};
    return {SpecKind::kNone, path + ": no key \"pipeline\", \"source\" or \"mix\""};
  } catch (const Error& error) {
    return {SpecKind::kNone, error.what()};
  }
}

PipelineSpec load_pipeline(const std::string& path) {
  const std::string text = read_text_file(path);
  SpecDocument document = read_spec_document(text, path);
  // With what its recipe sets, and after a check of the other sections.
  if (document.settings) document.pipeline = settings_from_yaml(text, path).pipeline;
  require_source(document.pipeline);
  return std::move(document.pipeline);
}

bool has_output(const std::string& path) {
  YamlMap map = YamlMap::parse(read_text_file(path), path);
  return map.has("output") || (map.is_map("pipeline") && map.map("pipeline").has("output"));
}

Settings settings_for(const PipelineSpec& pipeline, const Dataset& dataset, const std::string& model,
                      const std::string& device, const std::string& recipe) {
  Size size = first_image_size(dataset, pipeline.decode.max_pixels);
  // As in the first epoch, where schedules start.
  for (const OpSpec& operation : pipeline.operations) {
    size = make_operation(at_epoch(operation, 0))->output_size(size);
  }
  const int side = std::max(size.width, size.height);
  const std::string fallback = recipe.empty() ? default_model(side) : "";
  Settings settings =
      default_settings(pipeline.source, dataset, {model.empty() ? fallback : model, device, side, {}, recipe});
  set_batch(settings, pipeline.batch.size);
  settings.pipeline = pipeline;
  return settings;
}

}  // namespace unstarve
