#include "unstarve/jobs/doctor/doctor_facts.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/process/child_process.h"

namespace unstarve {
namespace {

// features.check_feature() reads a constant of the compiled module. pillow-simd also provides the package PIL, under a
// name of its own. NumPy 1.26 or newer lists its instruction sets; OpenCV marks those of the line that the CPU lacks
// or that are switched off with "?", and those of several versions of the code with "*".
constexpr const char* kPythonProgram = R"(
import importlib.metadata, json, sys
facts = {"interpreter": sys.executable, "version": sys.version.split()[0], "pillow": "", "simd": False, "turbo": False,
         "libraries": []}
try:
    import PIL
    from PIL import features
    facts["pillow"] = PIL.__version__
    facts["turbo"] = bool(features.check_feature("libjpeg_turbo"))
    facts["simd"] = any((d.metadata["Name"] or "").lower() == "pillow-simd" for d in importlib.metadata.distributions())
except ImportError:
    pass
def numpy():
    import numpy
    sets = numpy.show_config(mode="dicts").get("SIMD Extensions", {})
    return ["NumPy", numpy.__version__, sets.get("baseline", []) + sets.get("found", []), "numpy",
            "NPY_DISABLE_CPU_FEATURES"]
def opencv():
    import cv2
    sets = [name.lstrip("*") for name in cv2.getCPUFeaturesLine().split() if not name.endswith("?")]
    return ["OpenCV", cv2.__version__, sets, "opencv-python-headless", "OPENCV_CPU_DISABLE"]
for facts_of in (numpy, opencv):
    try:
        name, version, sets, package, variable = facts_of()
        facts["libraries"].append({"name": name, "version": version, "instructions": " ".join(sets),
                                   "package": package, "variable": variable})
    except Exception:
        pass  # not installed, or too old to name them
print(json.dumps(facts))
)";

}  // namespace

PythonFacts read_python_facts(const std::filesystem::path& interpreter) {
  std::string last_line;
  try {
    const auto keep = [&](std::string_view line) { last_line = line; };
    if (run_child({interpreter.string(), "-c", kPythonProgram}, keep).status != 0) return {};
  } catch (const Error&) {  // there is no such program
    return {};
  }
  const auto json = try_parse_json(last_line);
  if (!json.is_object()) return {};
  PythonFacts facts;
  facts.interpreter = json.value("interpreter", "");
  facts.version = json.value("version", "");
  facts.pillow = json.value("pillow", "");
  facts.pillow_simd = json.value("simd", false);
  facts.pillow_turbo = json.value("turbo", false);
  for (const auto& library : json.value("libraries", nlohmann::json::array())) {
    facts.libraries.push_back({library.value("name", ""), library.value("version", ""),
                               library.value("instructions", ""), library.value("package", ""),
                               library.value("variable", "")});
  }
  return facts;
}

}  // namespace unstarve
