#include "unstarve/jobs/prepare.h"

#include "../terminal.h"
#include "packing.h"
#include "shared.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/record_writer.h"

namespace unstarve::cli {
namespace {

// Nothing without --format; then the other options of packing make no sense.
std::optional<PackOptions> pack_options(const Arguments& arguments) {
  if (!arguments.has("--format")) {
    for (const Option& option : packing_options()) {
      if (arguments.has(option.name))
        throw Error(ErrorKind::kArgument, std::string(option.name) + ": it is for shards, give --format");
    }
    return std::nullopt;
  }
  (void)find_writer_format(arguments.text("--format"));
  return packing_from(arguments);
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

std::vector<Option> options() {
  std::vector<Option> all{
      {"NAME", "", "", "a data set of unstarve datasets", true},
      {"--from", "DIR|URL", "where it is published", "folder or URL with the archives", false, Completes::kPath},
      {"--out", "DST", "", "folder to make", true, Completes::kPath},
      {"--only", "NAME", "", "one published split and the archives that it needs"},
      {"--catalogue", "FILE", "", "sets of your own, as JSON: see unstarve datasets --help", false, Completes::kPath},
      {"--keep-archives", "", "", "do not remove what was fetched: it stays in DST.archives"},
      {"--format", "NAME", "",
       "pack into shards, in a folder per split: tfrecord, webdataset, parquet or recordio; the options from here on "
       "are those of unstarve pack",
       false, Completes::kNothing, kPackFormats}};
  for (const Option& option : packing_options()) all.push_back(option);
  all.push_back(json_option());
  return all;
}

}  // namespace

Command prepare_command() {
  return {"prepare",
          "Make a well-known data set ready from its published archives",
          "Finds the archives in DIR (a file of another name is told by its checksum) or fetches them, checks, unpacks "
          "and arranges them, splits as published, and packs them with --format. A run that was killed, also within a "
          "download, goes on when it is started again. unstarve datasets lists the names.",
          "  unstarve prepare cifar10 --from downloads/ --out cifar10/\n"
          "  unstarve prepare imagenet --from ilsvrc2012/ --out imagenet/ --format webdataset --resize 256\n"
          "  unstarve prepare mine --catalogue sets.json --from https://mirror/mine/ --out mine/",
          options(),
          run};
}

}  // namespace unstarve::cli
