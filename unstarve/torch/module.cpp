// The three symbols of libunstarve_torch.so. The build defines UNSTARVE_MODULE_STAMP, UNSTARVE_IMPORTER_STAMP and
// UNSTARVE_ENGINE_STAMP (cmake/Modules.cmake).

#include "unstarve/infer/engines/libtorch_module.h"
#include "unstarve/infer/import/import_module.h"
#include "unstarve/torch/graph_engine.h"
#include "unstarve/torch/import/importer.h"
#include "unstarve/torch/torch_trainer.h"
#include "unstarve/train/trainer_module.h"

const unstarve::TrainerModule* unstarve_trainer_module() noexcept {
  static constexpr unstarve::TrainerModule kModule{UNSTARVE_MODULE_STAMP, unstarve::make_torch_trainer,
                                                   unstarve::register_operators, unstarve::libtorch_precision,
                                                   unstarve::torch_facts};
  return &kModule;
}

const unstarve::infer::ImporterModule* unstarve_importer_module() noexcept {
  static constexpr unstarve::infer::ImporterModule kModule{UNSTARVE_IMPORTER_STAMP, unstarve::infer::import_network,
                                                           unstarve::infer::import_script,
                                                           unstarve::infer::random_network};
  return &kModule;
}

const unstarve::LibtorchModule* unstarve_libtorch_module() noexcept {
  static constexpr unstarve::LibtorchModule kModule{UNSTARVE_ENGINE_STAMP, unstarve::make_libtorch_engine};
  return &kModule;
}
