#include "unstarve/jobs/prepare/layout.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"

namespace unstarve {
namespace {

constexpr const char* kManifest = "manifest.jsonl";
constexpr const char* kUnlabelled = "unlabelled.jsonl";
constexpr const char* kClasses = "classes.txt";

FinishedLayout finish_manifest(const ManifestText& manifest, const std::filesystem::path& folder) {
  manifest.write(folder);
  return {kManifest, manifest.unlabelled_of};
}

}  // namespace

void ManifestText::add(const std::string& path, const std::string& split, const std::vector<std::uint32_t>& labels) {
  Json row = {{"path", path}, {"split", split}};
  if (!labels.empty()) {
    Json names = Json::array();
    for (const std::uint32_t label : labels) names.push_back(classes.at(label));
    row["label"] = labels.front();
    row["class"] = classes.at(labels.front());
    row["classes"] = names;
  } else {
    ++unlabelled_of[split];
  }
  (labels.empty() ? unlabelled_ : labelled_) += json_text(row) + "\n";
}

void ManifestText::write(const std::filesystem::path& folder) const {
  if (labelled_.empty()) throw Error(ErrorKind::kInput, "prepare " + folder.string() + ": no image has a label");
  std::string names;
  for (const std::string& name : classes) names += name + "\n";
  write_file_atomically(folder / kClasses, names);
  if (!unlabelled_.empty()) write_file_atomically(folder / kUnlabelled, unlabelled_);
  write_file_atomically(folder / kManifest, labelled_);
}

FinishedLayout finish_layout(PreparedLayout layout, const std::vector<PublishedArchive>& archives,
                             const std::filesystem::path& folder) {
  ManifestText manifest;
  switch (layout) {
    case PreparedLayout::kFiles: return {};
    case PreparedLayout::kImageNet: {
      const bool has_val = std::ranges::any_of(archives, [](const auto& a) { return a.to == kDevkitFolder; });
      if (has_val) sort_imagenet_val(folder);
      return {};
    }
    case PreparedLayout::kCoco:
      for (const PublishedArchive& archive : archives) {
        if (!archive.split.empty()) add_coco_rows(folder, archive.to, archive.split, manifest);
      }
      return finish_manifest(manifest, folder);
    case PreparedLayout::kOpenImages:
      add_open_images_rows(folder, archives, manifest);
      return finish_manifest(manifest, folder);
  }
  throw Error(ErrorKind::kInternal, "prepare: unknown layout");
}

}  // namespace unstarve
