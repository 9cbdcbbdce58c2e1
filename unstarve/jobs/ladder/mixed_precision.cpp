#include "unstarve/jobs/ladder/rung.h"
#include "unstarve/train/trainer.h"

// Matrix products in 16 bits, weights and sums in float32. bfloat16 has the range of float32: no loss scaling needed.
namespace unstarve {
namespace {

std::string not_applicable(const RungContext& context, const Settings& current) {
  if (!context.has_network()) return "no network runs on an emulated accelerator";
  if (current.train.precision != Precision::kFloat32)
    return "already " + std::string(to_string(current.train.precision));
  return precision_supported(context.target.name, Precision::kBfloat16).reason;
}

std::vector<Candidate> candidates(const RungContext&, const Settings& current) {
  Settings settings = current;
  settings.train.precision = Precision::kBfloat16;
  return {{settings, "float32 -> bfloat16"}};
}

}  // namespace

const Rung kMixedPrecisionRung{"mixed precision", true, false, not_applicable, candidates};

}  // namespace unstarve
