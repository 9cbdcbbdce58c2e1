#include "unstarve/jobs/doctor/doctor_facts.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/core/process/child_process.h"

namespace unstarve {
namespace {

// features.check_feature() reads a constant of the compiled module. pillow-simd also provides the package PIL, under a
// name of its own.
constexpr const char* kPillowProgram = R"(
import importlib.metadata, json, sys
facts = {"interpreter": sys.executable, "version": sys.version.split()[0], "pillow": "", "simd": False, "turbo": False}
try:
    import PIL
    from PIL import features
    facts["pillow"] = PIL.__version__
    facts["turbo"] = bool(features.check_feature("libjpeg_turbo"))
    facts["simd"] = any((d.metadata["Name"] or "").lower() == "pillow-simd" for d in importlib.metadata.distributions())
except ImportError:
    pass
print(json.dumps(facts))
)";

}  // namespace

PythonFacts read_python_facts(const std::filesystem::path& interpreter) {
  std::string last_line;
  try {
    const auto keep = [&](std::string_view line) { last_line = line; };
    if (run_child({interpreter.string(), "-c", kPillowProgram}, keep).status != 0) return {};
  } catch (const Error&) {  // there is no such program
    return {};
  }
  const auto json = nlohmann::json::parse(last_line, nullptr, false);
  if (!json.is_object()) return {};
  PythonFacts facts;
  facts.interpreter = json.value("interpreter", "");
  facts.version = json.value("version", "");
  facts.pillow = json.value("pillow", "");
  facts.pillow_simd = json.value("simd", false);
  facts.pillow_turbo = json.value("turbo", false);
  return facts;
}

}  // namespace unstarve
