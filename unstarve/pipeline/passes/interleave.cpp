#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

// Never applies: interleaving is for readers that must stream each shard from its beginning. Here a record is found by
// the index, so that the reads in flight (read_ahead) go to whatever shards the order asks for, and to several places
// of one.
Decision apply(Plan& plan, const PassInput&) {
  return {false,
          plan.spec.order.shuffle
              ? "needless: the order draws from all shards at once, and every record is read by its place"
              : "needless: records are read by their places, many at once, in whatever shards they lie; the order "
                "stays as stored"};
}

}  // namespace

const Pass kInterleavePass{"interleave", true, "several shards at once; never needed, records are read by their places",
                           apply};

}  // namespace unstarve
