// Arbitrary bytes as the YAML of a pipeline: rejected with Error(kInput), or equal after writing and reading it again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/pipeline/spec/yaml_map.h"

namespace {

std::string written(const unstarve::PipelineSpec& spec) {
  YAML::Emitter out;
  unstarve::write_yaml(out, spec);
  return out.c_str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  unstarve::PipelineSpec spec;
  try {
    spec = unstarve::pipeline_from_yaml(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const unstarve::Error& error) {
    if (error.kind() != unstarve::ErrorKind::kInput) std::abort();
    return 0;
  }
  const std::string text = written(spec);
  // Compared as text, because NaN does not equal itself.
  if (written(unstarve::pipeline_from_yaml(text, "again")) != text) std::abort();
  return 0;
}
