#include "packing.h"

namespace unstarve::cli {

std::vector<Option> packing_options() {
  return {{"--resize", "PX", "",
           "shrink images whose shorter side is longer than PX pixels to this side; others are unchanged"},
          {"--quality", "Q", "90 for resized images", "encode all images as JPEG of this quality, 1 to 100"},
          {"--shard-mb", "MB", "100", "approximate size of a shard in 10^6 bytes"},
          {"--shuffle", "", "", "shuffle the records with --seed"},
          {"--seed", "N", "0", "seed of the shuffle; implies --shuffle"},
          {"--split", "SHARES", "", "split by a hash of the name of each sample: train=0.9,val=0.1"},
          {"--scan-index", "", "",
           "write scan indexes next to the shards, so that the first epoch is as fast as later ones"},
          {"--threads", "N", "one per usable core, four if nothing is decoded", "threads for reading and encoding"}};
}

PackOptions packing_from(const Arguments& arguments) {
  PackOptions options;
  options.format = arguments.text("--format", "webdataset");
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

}  // namespace unstarve::cli
