#include "unstarve/jobs/inference/first_engine.h"

#include "unstarve/infer/engines/engine_table.h"

namespace unstarve {

std::unique_ptr<EngineProcess> first_engine(const std::string& engine, const std::string& program,
                                            const std::filesystem::path& model) {
  std::string reasons;
  for (const EngineCommand& command : engines_named(engine, program)) {
    try {
      return std::make_unique<EngineProcess>(command, model);
    } catch (const Error& error) {
      reasons += (reasons.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  throw Error(ErrorKind::kInput, reasons);
}

bool is_int8_kernel(std::string_view kernel) {
  // OpenVINO writes "_I8" for unsigned activations and "_i8" for signed ones.
  return kernel.ends_with("_I8") || kernel.ends_with("_U8") || kernel.ends_with("_i8") || kernel.ends_with("_u8");
}

}  // namespace unstarve
