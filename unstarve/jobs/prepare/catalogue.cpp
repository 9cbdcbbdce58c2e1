#include "unstarve/jobs/prepare/catalogue.h"

#include <algorithm>
#include <numeric>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"

namespace unstarve {

const char* to_string(PreparedLayout layout) noexcept {
  switch (layout) {
    case PreparedLayout::kFiles: return "files";
    case PreparedLayout::kImageNet: return "imagenet";
    case PreparedLayout::kCoco: return "coco";
    case PreparedLayout::kOpenImages: return "open-images";
  }
  return "?";
}

std::uint64_t CatalogueEntry::bytes() const {
  const bool known =
      std::all_of(archives.begin(), archives.end(), [](const auto& archive) { return archive.bytes > 0; });
  if (!known) return 0;
  return std::accumulate(archives.begin(), archives.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const PublishedArchive& archive) { return sum + archive.bytes; });
}

std::uint64_t CatalogueEntry::samples() const {
  return std::accumulate(splits.begin(), splits.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const SplitSize& split) { return sum + split.samples; });
}

std::vector<CatalogueEntry> load_catalogue(const std::filesystem::path& extra) {
  std::vector<CatalogueEntry> catalogue = known_datasets();
  if (extra.empty()) return catalogue;
  for (CatalogueEntry& entry : parse_catalogue(read_text_file(extra), extra.string())) {
    const auto same = std::find_if(catalogue.begin(), catalogue.end(),
                                   [&](const CatalogueEntry& known) { return known.name == entry.name; });
    if (same == catalogue.end()) {
      catalogue.push_back(std::move(entry));
    } else {
      *same = std::move(entry);
    }
  }
  return catalogue;
}

const CatalogueEntry& find_dataset(const std::vector<CatalogueEntry>& catalogue, std::string_view name) {
  std::string names;
  for (const CatalogueEntry& entry : catalogue) {
    if (entry.name == name) return entry;
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  throw Error(ErrorKind::kArgument, "dataset \"" + std::string(name) + "\": unknown; expected one of " + names +
                                        ", or one of your own with --catalogue");
}

}  // namespace unstarve
