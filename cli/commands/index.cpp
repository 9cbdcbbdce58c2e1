#include "unstarve/jobs/index.h"

#include "../terminal.h"
#include "shared.h"

namespace unstarve::cli {
namespace {

int run(const Arguments& arguments, const std::string&) {
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
          "A scan index stores where the rows of each JPEG begin. The first epoch would build it otherwise. The index "
          "is stored next to the data, or in the cache folder if the data is read-only, and loaders of the same path "
          "and split use it automatically. A killed run resumes when it is started again; changed images are indexed "
          "again. Shards of unstarve pack --scan-index already contain it.",
          "  unstarve index photos/train\n"
          "  unstarve index 'shards/train-*.tar' --json",
          {data_option(),
           split_option(),
           {"--threads", "N", "all usable cores", "threads for reading and decoding"},
           json_option()},
          run};
}

}  // namespace unstarve::cli
