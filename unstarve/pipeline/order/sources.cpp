#include "unstarve/pipeline/order/sources.h"

#include "unstarve/core/error.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/concatenated.h"
#include "unstarve/storage/index/index_paths.h"
#include "unstarve/storage/open.h"

namespace unstarve {

namespace {

std::shared_ptr<const Dataset> open_one(const SourceSpec& source) {
  if (source.index == IndexLocation::kNextToData) keep_indexes_next_to(source.path);
  try {
    return open_dataset(source.path, source.split, source.labels);
  } catch (const Error& error) {
    if (source.yaml_location.text.empty() || error.kind() == ErrorKind::kCancelled) throw;
    throw Error(error.kind(), source.yaml_location.text + ": " + error.what());
  }
}

}  // namespace

std::shared_ptr<const Dataset> open_sources(const PipelineSpec& spec) {
  if (spec.mix.empty()) return open_one(spec.source);
  std::vector<std::shared_ptr<const Dataset>> parts;
  std::vector<std::string> names;
  for (const SourceSpec& source : spec.mix) {
    parts.push_back(open_one(source));
    names.push_back(shown_name(source.path));
  }
  return concatenate(std::move(parts), names);
}

std::shared_ptr<const SampleSet> samples_of_sources(const PipelineSpec& spec, const Dataset& dataset, int threads) {
  PipelineSpec plain;
  plain.source = spec.source;
  plain.mix = spec.mix;
  plain.passes = spec.passes;
  for (SourceSpec& source : plain.mix) source.weight.reset();
  return choose_samples(plain, dataset, threads);
}

std::string name_of_sources(const PipelineSpec& spec) {
  if (spec.mix.empty()) return shown_name(spec.source.path);
  std::string text;
  for (const SourceSpec& source : spec.mix) text += (text.empty() ? "" : " + ") + shown_name(source.path);
  return text;
}

}  // namespace unstarve
