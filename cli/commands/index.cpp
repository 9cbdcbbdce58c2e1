#include "unstarve/jobs/data/index.h"

#include "../options/shared.h"
#include "../terminal.h"

namespace unstarve::cli {
namespace {

int run_index_command(const Arguments& arguments, const std::string&) {
  const IndexResult result = with_progress([&](const Progress& progress) {
    return run_index(spec_from(arguments), static_cast<int>(arguments.integer("--threads", 0, 1, 1024)), progress);
  });
  print_result(arguments, result);
  return kDone;
}

}  // namespace

Command index_command() {
  return {"index",
          "Build the scan indexes of JPEG files, so that the first epoch is as fast as later ones",
          "A scan index stores the position of each row of blocks, so that a crop can be decoded without the rest of "
          "the image. Without this command, the first epoch builds the index. The index is stored next to the data, or "
          "in the cache folder if the data is read-only. Loaders with the same path and split use it automatically. To "
          "continue an interrupted run, repeat the command; changed images are indexed again. Shards of unstarve pack "
          "--scan-index already have indexes.",
          "  unstarve index photos/train\n"
          "  unstarve index 'shards/train-*.tar' --json",
          {data_option(),
           split_option(),
           {"--threads", "N", "all usable cores", "threads for reading and decoding"},
           json_option()},
          run_index_command};
}

}  // namespace unstarve::cli
