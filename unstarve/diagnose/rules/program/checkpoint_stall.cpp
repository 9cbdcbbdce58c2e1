// The training stops while the main thread saves the model.

#include "unstarve/diagnose/rules/program/stall.h"
#include "unstarve/diagnose/rules/rule.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_checkpoint(const RunProfile& profile) {
  return find_stall(profile,
                    {Activity::kCheckpoint,
                     "saving checkpoints stops the training",
                     {"save less often, or from a copy in a thread",
                      "save less often, or from a copy in a thread (torch.distributed.checkpoint.async_save)",
                      "save less often, or in a thread (tf.train.CheckpointOptions(enable_async=True))",
                      "save less often, or from a copy in a thread (orbax.checkpoint.AsyncCheckpointer)",
                      "save less often: unstarve train --checkpoint-every"},
                     0.05},
                    main_stall_share(profile, Activity::kCheckpoint));
}

}  // namespace

const Rule kCheckpointStall{
    "checkpoint-stall",
    "the main thread is in functions that save models, or functions of the program around them, for 5 % of the time",
    find_checkpoint};

}  // namespace unstarve
