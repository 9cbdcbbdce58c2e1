#include "unstarve/jobs/data/pack.h"

#include "../options/packing.h"
#include "../options/shared.h"
#include "../terminal.h"
#include "unstarve/core/error.h"

namespace unstarve::cli {
namespace {

bool skips(const std::string& policy) {
  if (policy == "fail" || policy == "skip") return policy == "skip";
  throw Error(ErrorKind::kArgument, "--on-error: found \"" + policy + "\"; expected fail or skip");
}

PackOptions pack_options_from(const Arguments& arguments) {
  PackOptions options = packing_from(arguments);
  options.source_split = arguments.text("--from-split");
  options.exclude = arguments.text("--exclude");
  if (arguments.has("--part")) options.part = parse_part(arguments.text("--part"));
  options.skip_damaged = skips(arguments.text("--on-error", "fail"));
  options.check = arguments.has("--check");
  return options;
}

int run_pack_command(const Arguments& arguments, const std::string&) {
  reject_spec("pack", arguments.text("SRC"));
  const PackOptions options = pack_options_from(arguments);
  const std::string folder = arguments.text("DST");
  const PackResult result = with_progress(
      [&](const Progress& progress) { return run_pack(arguments.text("SRC"), folder, options, progress); });
  print_result(arguments, result, folder);
  return kDone;
}

std::vector<Option> pack_command_options() {
  std::vector<Option> all{
      {"SRC", "", "", "dataset in any supported format: a folder, shards, a URL", true, Completes::kPath},
      {"DST", "", "", "folder for the shards: new, empty, or of an earlier run of the same command", true,
       Completes::kPath},
      {"--format", "NAME", "webdataset", "webdataset (tar files), tfrecord, parquet or recordio", false,
       Completes::kNothing, kPackFormats},
      {"--from-split", "NAME", "", "split of the source: train, test or val"}};
  for (const Option& option : packing_options()) all.push_back(option);
  all.insert(all.end(),
             {{"--part", "I/N", "", "write only part I of N, with I from 1 to N or from 0 to N-1"},
              {"--exclude", "FILE", "", "quarantine file of records to leave out: JSON lines of file, offset, reason",
               false, Completes::kPath},
              {"--on-error", "POLICY", "fail", "for a damaged record: fail, or skip (counted and listed)", false,
               Completes::kNothing, "fail skip"},
              {"--check", "", "", "also decode the images that are copied unchanged"},
              json_option()});
  return all;
}

}  // namespace

Command pack_command() {
  return {
      "pack",
      "Pack a dataset into shards, which are read at disk speed",
      "Shards and manifest are bit-equal for any number of threads, after an interrupted run was repeated, and when "
      "several machines each write a part (--part). Images that need no change are copied byte for byte. The "
      "split of a sample depends only on its name, so it stays the same when the dataset grows.",
      "  unstarve pack photos/ packed/ --resize 256 --split train=0.9,val=0.1 --seed 0\n"
      "  unstarve pack photos/ packed/ --format tfrecord --part 3/8 --json\n"
      "  unstarve pack 'old/*.tar' new/ --format recordio --on-error skip --exclude quarantine.jsonl",
      pack_command_options(),
      run_pack_command};
}

}  // namespace unstarve::cli
