#include "unstarve/jobs/prepare/prepare.h"

#include "../terminal.h"
#include "shared.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/record_writer.h"

namespace unstarve::cli {
namespace {

// Nothing without --format; then the other options of packing make no sense.
std::optional<PackOptions> pack_options(const Arguments& arguments) {
  if (!arguments.has("--format")) {
    for (const char* name :
         {"--resize", "--quality", "--shard-mb", "--shuffle", "--seed", "--split", "--scan-index", "--threads"}) {
      if (arguments.has(name))
        throw Error(ErrorKind::kArgument, std::string(name) + ": it is for shards, give --format");
    }
    return std::nullopt;
  }
  PackOptions options;
  options.format = arguments.text("--format");
  (void)find_writer_format(options.format);
  options.resize = static_cast<int>(arguments.integer("--resize", 0, 1, 65'500));
  options.quality = static_cast<int>(arguments.integer("--quality", 0, 1, 100));
  options.shard_mb = arguments.number("--shard-mb", options.shard_mb, 1e-6, 1e6);
  options.shuffle = arguments.has("--shuffle") || arguments.has("--seed");
  options.seed = static_cast<std::uint64_t>(arguments.integer("--seed", 0, 0, 1LL << 62));
  if (arguments.has("--split")) options.splits = parse_splits(arguments.text("--split"));
  options.scan_index = arguments.has("--scan-index");
  options.threads = static_cast<int>(arguments.integer("--threads", 0, 1, 1024));
  return options;
}

int run(const Arguments& arguments, const std::string&) {
  const std::vector<CatalogueEntry> catalogue = load_catalogue(arguments.text("--catalogue"));
  const CatalogueEntry& entry = find_dataset(catalogue, arguments.text("NAME"));
  PrepareOptions options;
  options.only = arguments.text("--only");
  options.keep_archives = arguments.has("--keep-archives");
  options.pack = pack_options(arguments);
  PrepareResult result;
  {
    ProgressBar bar;
    result = run_prepare(entry, arguments.text("--from"), arguments.text("--out"), options, bar.callback());
  }
  print_result(arguments.has("--json") ? to_json(result) + "\n" : to_text(result));
  return kDone;
}

}  // namespace

Command prepare_command() {
  return {
      "prepare",
      "Make a well-known data set ready from its published archives",
      "Finds the archives in DIR (a file of another name is told by its checksum) or fetches them, checks, unpacks "
      "and arranges them, splits as published, and packs them with --format. A run that was killed, also within a "
      "download, goes on when it is started again. unstarve datasets lists the names.",
      "  unstarve prepare cifar10 --from downloads/ --out cifar10/\n"
      "  unstarve prepare imagenet --from ilsvrc2012/ --out imagenet/ --format webdataset --resize 256 --seed 0\n"
      "  unstarve prepare mine --catalogue sets.json --from https://mirror/mine/ --out mine/",
      {{"NAME", "", "", "a data set of unstarve datasets", true},
       {"--from", "DIR|URL", "where it is published", "folder or URL with the archives", false, Completes::kPath},
       {"--out", "DST", "", "folder to make", true, Completes::kPath},
       {"--only", "NAME", "", "one published split and the archives that it needs"},
       {"--catalogue", "FILE", "", "sets of your own, as JSON: see unstarve datasets --help", false, Completes::kPath},
       {"--keep-archives", "", "", "do not remove what was fetched: it stays in DST.archives"},
       {"--format", "NAME", "", "pack: tfrecord, webdataset, parquet or recordio, in a folder per split"},
       {"--resize", "PX", "", "pack: short side that longer ones are reduced to"},
       {"--quality", "Q", "90 for resized JPEG", "pack: encode all images as JPEG of this quality, 1 to 100"},
       {"--shard-mb", "MB", "100", "pack: about so many million bytes a shard"},
       {"--shuffle", "", "", "pack: in an order that depends on the seed alone"},
       {"--seed", "N", "0", "pack: of the shuffle; asks for it"},
       {"--split", "SHARES", "", "pack: train=0.9,val=0.1, for sets that are published without"},
       {"--scan-index", "", "", "pack: keep an index of each JPEG's scan beside the shards"},
       {"--threads", "N", "all usable cores", "pack: reading and encoding threads"},
       json_option()},
      run};
}

}  // namespace unstarve::cli
