// The one symbol of libunstarve_torch.so. The build defines UNSTARVE_MODULE_STAMP (cmake/TorchModule.cmake).

#include "unstarve/torch/torch_trainer.h"
#include "unstarve/train/trainer_module.h"

const unstarve::TrainerModule* unstarve_trainer_module() noexcept {
  static constexpr unstarve::TrainerModule kModule{UNSTARVE_MODULE_STAMP, unstarve::make_torch_trainer,
                                                   unstarve::register_operators, unstarve::gpu_precision,
                                                   unstarve::torch_facts};
  return &kModule;
}
