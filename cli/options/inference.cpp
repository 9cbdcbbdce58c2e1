#include "inference.h"

#include <filesystem>

#include "shared.h"
#include "unstarve/jobs/settings/settings_file.h"

namespace unstarve::cli {

EvaluationData evaluation_data_from(const Arguments& arguments, const std::string& name, const std::string& split) {
  const SpecKind kind = detect_spec(arguments.text(name)).kind;
  EvaluationData data{spec_of(arguments, name, split), kind != SpecKind::kNone};
  if (kind == SpecKind::kSettings) data.spec.operations.clear();  // those of the training
  return data;
}

std::string program_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

}  // namespace unstarve::cli
