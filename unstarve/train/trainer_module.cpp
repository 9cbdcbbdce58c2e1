// Implements trainer.h by the loaded module. The build defines UNSTARVE_MODULE_STAMP and the paths of the module and
// its libtorch (cmake/TorchModule.cmake).

#include "unstarve/train/trainer_module.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/train/cpu_precision.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw Error(ErrorKind::kMissing, fmt::format("training requires {}, but {}", file.string(), what));
}

const TrainerModule& load(const fs::path& file) {
  // RTLD_LOCAL hides its symbols and those of libtorch. Never unloaded, because libtorch does not support it.
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    fail(file, fmt::format("it cannot be loaded: {}. It was built with the libtorch in {}. Run `make setup` to install "
                           "it, or set LD_LIBRARY_PATH to its folder",
                           ::dlerror(), UNSTARVE_MODULE_LIBTORCH));
  }
  using Entry = decltype(&unstarve_trainer_module);
  const auto entry = reinterpret_cast<Entry>(::dlsym(library, "unstarve_trainer_module"));
  if (entry == nullptr) fail(file, "it is another library: it has no unstarve_trainer_module");
  const TrainerModule& module = *entry();
  if (std::string_view(module.stamp) != UNSTARVE_MODULE_STAMP) {
    fail(file, fmt::format("it belongs to another build ({}) than this program ({}). Build or install both together",
                           module.stamp, UNSTARVE_MODULE_STAMP));
  }
  return module;
}

}  // namespace

void check_model(const std::string& name) {
  std::vector<std::string_view> known;
  for (const ModelInfo& info : kModelInfos) {
    if (info.name == name) return;
    known.push_back(info.name);
  }
  throw Error(ErrorKind::kArgument,
              fmt::format("unknown model \"{}\"; expected one of {}", name, fmt::join(known, ", ")));
}

std::vector<fs::path> trainer_module_paths() {
  std::error_code failed;
  const fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed)
    throw Error(ErrorKind::kMissing, "training cannot find the folder of the program: /proc: " + failed.message());
  return {folder / UNSTARVE_MODULE_FILE, (folder / UNSTARVE_MODULE_FOLDER / UNSTARVE_MODULE_FILE).lexically_normal()};
}

const TrainerModule& load_trainer_module(std::span<const fs::path> paths) {
  std::string looked;
  for (const fs::path& path : paths) {
    if (std::error_code ignored; fs::exists(path, ignored)) return load(path);
    looked += (looked.empty() ? "" : " and ") + path.string();
  }
  throw Error(ErrorKind::kMissing,
              fmt::format("training requires {}, which was not found at {}. Build it with the program (cmake "
                          "--build), or install both (cmake --install)",
                          UNSTARVE_MODULE_FILE, looked));
}

const TrainerModule& trainer_module() {
  static const TrainerModule& module = load_trainer_module(trainer_module_paths());
  return module;
}

std::unique_ptr<Trainer> make_trainer(const TrainSettings& settings) {
  check_settings(settings);
  check_model(settings.model);  // before libtorch is loaded, which is slow
  return trainer_module().make_trainer(settings);
}

PrecisionSupport precision_supported(const std::string& device, Precision precision) {
  if (device == "cpu") return cpu_precision(read_machine_facts(), precision);
  return trainer_module().precision_supported(device, precision);
}

bool trainer_in_build() noexcept { return true; }

LibtorchFacts libtorch_facts() {
  try {
    return trainer_module().libtorch();
  } catch (const Error& error) {
    return {"", false, error.what()};
  }
}

std::span<const ModelInfo> model_infos() noexcept { return kModelInfos; }

}  // namespace unstarve
