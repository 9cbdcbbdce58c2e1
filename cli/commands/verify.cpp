#include "unstarve/jobs/data/verify.h"

#include <fmt/format.h>

#include "../options/shared.h"
#include "../terminal.h"
#include "unstarve/observe/format.h"

namespace unstarve::cli {
namespace {

int run_verify_command(const Arguments& arguments, const std::string&) {
  const std::string folder = arguments.text("DST");
  const VerifyResult result = with_progress([&](const Progress& progress) {
    return run_verify(folder, static_cast<int>(arguments.integer("--threads", 0, 1, 1024)), progress);
  });
  print_result(arguments, result, folder);
  if (result.ok()) return kDone;
  print_to_stderr(fmt::format("unstarve: verify {}: {}: {}\n", printable(folder), printable(result.wrong.front().file),
                              printable(result.wrong.front().reason)));
  return kCheckFailed;
}

}  // namespace

Command verify_command() {
  return {"verify",
          "Check a packed folder against its manifest",
          "Checks length, checksum and number of records of every shard, and that the manifest lists every shard. If a "
          "file does not match the manifest, prints its name and exits with 1.",
          "  unstarve verify packed/ --json",
          {{"DST", "", "", "folder written by unstarve pack", true, Completes::kPath},
           {"--threads", "N", "all usable cores", "threads for reading"},
           json_option()},
          run_verify_command};
}

}  // namespace unstarve::cli
