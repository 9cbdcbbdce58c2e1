#include "../options/shared.h"
#include "unstarve/jobs/prepare/catalogue.h"

namespace unstarve::cli {
namespace {

int run_datasets_command(const Arguments& arguments, const std::string&) {
  const std::vector<CatalogueEntry> all = load_catalogue(arguments.text("--catalogue"));
  const std::vector<CatalogueEntry> requested =
      arguments.has("NAME") ? std::vector{find_dataset(all, arguments.text("NAME"))} : all;
  print_result(arguments, requested);
  return kDone;
}

}  // namespace

Command datasets_command() {
  return {"datasets",
          "List well-known datasets: size, licence, home page, archives and checksums",
          "Lists the datasets that unstarve prepare supports. To describe your own datasets, edit the output of --json "
          "and pass the file to --catalogue: each has a name, a title, a layout (files, imagenet, coco or "
          "open-images), and "
          "archives with file name and checksum.",
          "  unstarve datasets\n"
          "  unstarve datasets cifar10 --json",
          {{"NAME", "", "all", "one dataset: imagenet, cifar10, ..."},
           {"--catalogue", "FILE", "", "catalogue of your own datasets, as JSON", false, Completes::kPath},
           json_option()},
          run_datasets_command};
}

}  // namespace unstarve::cli
