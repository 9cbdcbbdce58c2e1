#include "unstarve/jobs/data/index.h"

#include "../terminal.h"
#include "shared.h"

namespace unstarve::cli {
namespace {

int run_index_command(const Arguments& arguments, const std::string&) {
  IndexResult result;
  {
    ProgressBar bar;
    result =
        run_index(spec_from(arguments), static_cast<int>(arguments.integer("--threads", 0, 1, 1024)), bar.callback());
  }
  print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result));
  return kDone;
}

}  // namespace

Command index_command() {
  return {"index",
          "Build the scan indexes of JPEG files, so that the first epoch is as fast as later ones",
          "A scan index stores the position of each block row, so that a crop can be decoded alone. Without this "
          "command the first epoch builds it. The index is stored next to the data, or in the cache folder if the data "
          "is read-only or an epoch has already stored it there; loaders of the same path and split use it "
          "automatically. An interrupted run continues when it "
          "is repeated; changed images are indexed again. Shards of unstarve pack --scan-index have indexes already.",
          "  unstarve index photos/train\n"
          "  unstarve index 'shards/train-*.tar' --json",
          {data_option(),
           split_option(),
           {"--threads", "N", "all usable cores", "threads for reading and decoding"},
           json_option()},
          run_index_command};
}

}  // namespace unstarve::cli
