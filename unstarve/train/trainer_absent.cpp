// trainer.h in a build without libtorch: everything that needs it throws with the remedy.

#include "unstarve/core/error.h"
#include "unstarve/train/trainer.h"

namespace unstarve {
namespace {

[[noreturn]] void absent(const char* what) {
  throw Error(ErrorKind::kMissing, std::string(what) +
                                       " requires libtorch, which this build does not have. Run `make setup` (it "
                                       "installs torch into .venv) and build again with -DUNSTARVE_TORCH=ON");
}

}  // namespace

std::unique_ptr<Trainer> make_trainer(const TrainSettings&) { absent("training"); }
PrecisionSupport precision_supported(const std::string&, Precision) { absent("training"); }
bool trainer_in_build() noexcept { return false; }
LibtorchFacts libtorch_facts() { return {}; }
std::span<const ModelInfo> model_infos() noexcept { return {}; }

}  // namespace unstarve
