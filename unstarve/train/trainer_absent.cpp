// trainer.h in a build without libtorch: everything that needs it throws with the remedy.

#include "unstarve/core/error.h"
#include "unstarve/train/trainer.h"

namespace unstarve {
namespace {

[[noreturn]] void absent() {
  throw Error(ErrorKind::kMissing,
              "train: this build has no libtorch; expected a build with libtorch. Install the wheel of `make wheel`, "
              "or build with -DUNSTARVE_TORCH=ON after `make setup`, which installs torch");
}

}  // namespace

std::unique_ptr<Trainer> make_trainer(const TrainSettings&, const Ranks&, const StartingFile&) { absent(); }
std::unique_ptr<Trainer> make_trainer(const TrainSettings&, const ForeignNetwork&, const Ranks&) { absent(); }
void register_network_operators() { absent(); }
PrecisionSupport precision_supported(const std::string&, Precision) { absent(); }
bool trainer_in_build() noexcept { return false; }
LibtorchFacts libtorch_facts() { return {}; }
std::span<const ModelInfo> model_infos() noexcept { return {}; }

}  // namespace unstarve
