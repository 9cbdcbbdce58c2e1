#include "shared.h"
#include "unstarve/jobs/prepare/catalogue.h"

namespace unstarve::cli {
namespace {

int run(const Arguments& arguments, const std::string&) {
  const std::vector<CatalogueEntry> all = load_catalogue(arguments.text("--catalogue"));
  const std::vector<CatalogueEntry> wanted =
      arguments.has("NAME") ? std::vector{find_dataset(all, arguments.text("NAME"))} : all;
  print_result(arguments.has("--json") ? to_json(wanted) + "\n" : to_text(wanted));
  return kDone;
}

}  // namespace

Command datasets_command() {
  return {
      "datasets",
      "List well-known data sets: size, licence, home page, archives and checksums",
      "Lists the data sets that unstarve prepare supports. Edit the output of --json to make a catalogue of your own "
      "for --catalogue: sets with name, title, layout (files, imagenet, coco or open-images) and archives with file "
      "and checksum.",
      "  unstarve datasets\n"
      "  unstarve datasets cifar10 --json",
      {{"NAME", "", "all", "one data set: imagenet, cifar10, ..."},
       {"--catalogue", "FILE", "", "catalogue of your own data sets, as JSON", false, Completes::kPath},
       json_option()},
      run};
}

}  // namespace unstarve::cli
