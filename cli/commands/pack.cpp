#include "unstarve/jobs/pack/pack.h"

#include "../terminal.h"
#include "shared.h"
#include "unstarve/core/error.h"

namespace unstarve::cli {
namespace {

bool skips(const std::string& policy) {
  if (policy == "fail" || policy == "skip") return policy == "skip";
  throw Error(ErrorKind::kArgument, "--on-error: found \"" + policy + "\", expected fail or skip");
}

PackOptions options_from(const Arguments& arguments) {
  PackOptions options;
  options.format = arguments.text("--format");
  options.source_split = arguments.text("--from-split");
  options.resize = static_cast<int>(arguments.integer("--resize", 0, 1, 65'500));
  options.quality = static_cast<int>(arguments.integer("--quality", 0, 1, 100));
  options.shard_mb = arguments.number("--shard-mb", options.shard_mb, 1e-6, 1e6);
  options.shuffle = arguments.has("--shuffle") || arguments.has("--seed");
  options.seed = static_cast<std::uint64_t>(arguments.integer("--seed", 0, 0, 1LL << 62));
  if (arguments.has("--split")) options.splits = parse_splits(arguments.text("--split"));
  options.exclude = arguments.text("--exclude");
  if (arguments.has("--part")) options.part = parse_part(arguments.text("--part"));
  options.scan_index = arguments.has("--scan-index");
  options.skip_damaged = skips(arguments.text("--on-error", "fail"));
  options.check = arguments.has("--check");
  options.threads = static_cast<int>(arguments.integer("--threads", 0, 1, 1024));
  return options;
}

int run(const Arguments& arguments, const std::string&) {
  const PackOptions options = options_from(arguments);
  const std::string folder = arguments.text("DST");
  PackResult result;
  {
    ProgressBar bar;
    result = run_pack(arguments.text("SRC"), folder, options, bar.callback());
  }
  print_result(arguments.has("--json") ? to_json(result, folder) + "\n" : to_text(result, folder));
  return kDone;
}

}  // namespace

Command pack_command() {
  return {
      "pack",
      "Pack any data set into shards that are read at the disk's speed",
      "Shards and manifest are the same bit by bit for any number of threads, after a kill and a second start of the "
      "same command, and when the parts i/n of a job array make them. Images that need no change keep their bytes. A "
      "sample's split depends on its name alone: it stays when the set grows.",
      "  unstarve pack photos/ packed/ --format webdataset --resize 256 --split train=0.9,val=0.1 --seed 0\n"
      "  unstarve pack photos/ packed/ --format tfrecord --part 3/8 --json\n"
      "  unstarve pack 'old/*.tar' new/ --format recordio --on-error skip --exclude quarantine.jsonl",
      {{"SRC", "", "", "any data set that unstarve reads", true, Completes::kPath},
       {"DST", "", "", "folder for the shards: new, empty, or of the same pack", true, Completes::kPath},
       {"--format", "NAME", "", "tfrecord, webdataset, parquet or recordio", true},
       {"--from-split", "NAME", "", "part of the source: train, test or val"},
       {"--resize", "PX", "", "short side that longer ones are reduced to"},
       {"--quality", "Q", "90 for resized JPEG", "encode all images as JPEG of this quality, 1 to 100"},
       {"--shard-mb", "MB", "100", "about so many million bytes a shard"},
       {"--shuffle", "", "", "in an order that depends on the seed alone"},
       {"--seed", "N", "0", "of the shuffle; asks for it"},
       {"--split", "SHARES", "", "train=0.9,val=0.1: by a hash of each sample's name"},
       {"--part", "I/N", "", "one of N disjoint parts, I from 1 to N or from 0 to N-1"},
       {"--exclude", "FILE", "", "quarantine list of records to leave out: JSON lines of file, offset, reason", false,
        Completes::kPath},
       {"--on-error", "POLICY", "fail", "what a damaged record does: fail, or skip (counted and listed)"},
       {"--check", "", "", "decode also the images that are kept as they are"},
       {"--scan-index", "", "",
        "keep an index of each JPEG's scan beside the shards: the first epoch is as fast as later ones"},
       {"--threads", "N", "all usable cores, 4 per core without decoding", "reading and encoding threads"},
       json_option()},
      run};
}

}  // namespace unstarve::cli
