// Implements trainer.h by the loaded module. The build defines UNSTARVE_MODULE_STAMP and UNSTARVE_TORCH_VERSION
// (cmake/Modules.cmake).

#include "unstarve/train/trainer_module.h"

#include <fmt/format.h>

#include <array>

#include "unstarve/core/error.h"
#include "unstarve/core/module_loader.h"
#include "unstarve/train/device_precision.h"

namespace unstarve {

const TrainerModule& trainer_module() {
  static constexpr std::array<const char*, 1> kLibraries = {"torch/lib/libtorch.so"};  // loads all others
  static constexpr Module kModule{"libunstarve_torch.so",
                                  "unstarve_trainer_module",
                                  UNSTARVE_MODULE_STAMP,
                                  "torch",
                                  UNSTARVE_TORCH_VERSION,
                                  "torch",
                                  kLibraries};
  static const auto& module = *static_cast<const TrainerModule*>(load_module(kModule, "train"));
  return module;
}

std::unique_ptr<Trainer> make_trainer(const TrainSettings& settings, const Ranks& ranks, const StartingFile& start) {
  check_settings(settings);
  (void)parse_model_name(settings.model);  // checked before libtorch is loaded, which is slow
  return trainer_module().make_trainer(settings, nullptr, ranks, start);
}

std::unique_ptr<Trainer> make_trainer(const TrainSettings& settings, const ForeignNetwork& network,
                                      const Ranks& ranks) {
  check_settings(settings);
  return trainer_module().make_trainer(settings, &network, ranks, {});
}

void register_network_operators() { trainer_module().register_network_operators(); }

PrecisionSupport precision_supported(const std::string& device, Precision precision) {
  if (device == "cpu") return cpu_precision(read_machine_facts(), precision);
  const PrecisionSupport of_libtorch = trainer_module().precision_supported(device, precision);
  return of_libtorch.supported ? gpu_precision(report_devices(), device, precision) : of_libtorch;
}

bool trainer_in_build() noexcept { return true; }

LibtorchFacts libtorch_facts() {
  try {
    return trainer_module().libtorch();
  } catch (const Error& error) {
    return {"", false, error.what(), ""};
  }
}

std::span<const ModelInfo> model_infos() noexcept { return kModelInfos; }

}  // namespace unstarve
