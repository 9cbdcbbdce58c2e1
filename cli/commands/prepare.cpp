#include "unstarve/jobs/data/prepare.h"

#include "../options/packing.h"
#include "../options/shared.h"
#include "../terminal.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/writer_formats.h"

namespace unstarve::cli {
namespace {

// nullopt without --format; throws if other packing options are given without it.
std::optional<PackOptions> pack_options(const Arguments& arguments) {
  if (!arguments.has("--format")) {
    for (const Option& option : packing_options()) {
      if (arguments.has(option.name))
        throw Error(ErrorKind::kArgument, std::string(option.name) + ": requires --format");
    }
    return std::nullopt;
  }
  (void)find_writer_format(arguments.text("--format"));
  return packing_from(arguments);
}

int run_prepare_command(const Arguments& arguments, const std::string&) {
  const std::vector<CatalogueEntry> catalogue = load_catalogue(arguments.text("--catalogue"));
  const CatalogueEntry& entry = find_dataset(catalogue, arguments.text("NAME"));
  PrepareOptions options;
  options.from = arguments.text("--from");
  options.only = arguments.text("--only");
  options.keep_archives = arguments.has("--keep-archives");
  options.pack = pack_options(arguments);
  const PrepareResult result = with_progress(
      [&](const Progress& progress) { return run_prepare(entry, arguments.text("--out"), options, progress); });
  print_result(arguments, result);
  return kDone;
}

std::vector<Option> prepare_command_options() {
  std::vector<Option> all{
      {"NAME", "", "", "name of a dataset, see unstarve datasets", true},
      {"--from", "DIR|URL", "the published URL", "folder or URL with the archives", false, Completes::kPath},
      {"--out", "DST", "", "folder to create", true, Completes::kPath},
      {"--only", "NAME", "", "prepare only this published split"},
      {"--catalogue", "FILE", "", "catalogue of your own datasets, as JSON: see unstarve datasets --help", false,
       Completes::kPath},
      {"--keep-archives", "", "", "keep downloaded archives in DST.archives"},
      {"--format", "NAME", "",
       "pack into shards, one folder per split: tfrecord, webdataset, parquet or recordio; the options below are the "
       "same as in unstarve pack",
       false, Completes::kNothing, kPackFormats}};
  for (const Option& option : packing_options()) all.push_back(option);
  all.push_back(json_option());
  return all;
}

}  // namespace

Command prepare_command() {
  return {"prepare",
          "Download, check and unpack a well-known dataset",
          "Finds the archives in DIR (renamed files are identified by their checksum) or downloads them, verifies and "
          "unpacks them, keeps the published splits, and with --format packs them into shards. To continue an "
          "interrupted run or download, repeat the command. unstarve datasets lists the names.",
          "  unstarve prepare cifar10 --from downloads/ --out cifar10/\n"
          "  unstarve prepare imagenet --from ilsvrc2012/ --out imagenet/ --format webdataset --resize 256\n"
          "  unstarve prepare mine --catalogue sets.json --from https://mirror/mine/ --out mine/",
          prepare_command_options(),
          run_prepare_command};
}

}  // namespace unstarve::cli
