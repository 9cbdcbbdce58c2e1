#include "unstarve/jobs/index.h"
#include "../terminal.h"
#include "shared.h"

namespace unstarve::cli {
namespace {

int run(const Arguments& arguments, const std::string&) {
  IndexingResult result;
  {
    ProgressBar bar;
    result = run_indexing(spec_from(arguments), static_cast<int>(arguments.integer("--threads", 0, 1, 1024)),
                          bar.callback());
  }
  print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result));
  return kDone;
}

}  // namespace

Command index_command() {
  return {"index",
          "Note where the rows of each JPEG begin, so that the first epoch is as fast as later ones",
          "What the first epoch would make on its way, for data that stay as they are: beside them, or in the cache "
          "folder where they cannot be written. Loaders of the same path and split take it without being told. Goes on "
          "after a kill; images that have changed are done again. Shards by unstarve pack --scan-index have theirs.",
          "  unstarve index photos/train\n"
          "  unstarve index 'shards/train-*.tar' --json",
          {data_option(),
           split_option(),
           {"--threads", "N", "all usable cores", "reading and decoding threads"},
           json_option()},
          run};
}

}  // namespace unstarve::cli
