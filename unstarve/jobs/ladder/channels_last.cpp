#include "unstarve/jobs/ladder/rung.h"

// Weights and activations in NHWC, the native layout of oneDNN and tensor core kernels.
namespace unstarve {
namespace {

std::string not_applicable(const RungContext& context, const Settings& current) {
  if (!context.has_network()) return "no network runs on an emulated accelerator";
  if (current.train.channels_last) return "already channels last";
  return {};
}

std::vector<Candidate> candidates(const RungContext&, const Settings& current) {
  Settings settings = current;
  settings.train.channels_last = true;
  settings.pipeline.output.layout = Layout::kNhwc;  // the loader writes the layout of the network
  return {{settings, "NCHW -> NHWC"}};
}

}  // namespace

const Rung kChannelsLastRung{"channels last", false, false, not_applicable, candidates};

}  // namespace unstarve
