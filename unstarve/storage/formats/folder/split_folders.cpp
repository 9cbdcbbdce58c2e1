#include "unstarve/storage/formats/folder/split_folders.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/source/folder_scan.h"
#include "unstarve/storage/source/source.h"
#include "unstarve/storage/source/split_names.h"

namespace unstarve {
namespace {

FolderListing list_inside(const Source& source, const std::string& name) {
  const std::string path = source.path + "/" + name;
  return is_url(path) ? list_bucket_folder(path) : list_folder(path);
}

bool has_images(const FolderListing& inside) { return std::ranges::any_of(inside.files, has_image_extension); }

bool has_entries_but_images(const FolderListing& inside) {
  return (!inside.folders.empty() || !inside.files.empty()) && !has_images(inside);
}

// `named`: the subfolders with names of splits, those of the training data first, because other splits are often one
// large folder of images.
bool holds_splits(const Source& source, const std::vector<std::string>& named) {
  const bool all = named.size() == source.listing.folders.size();
  if (named.empty() || (named.size() == 1 && !all)) return false;
  if (named.size() > 1 && all) return true;
  return std::ranges::any_of(
             named, [&](const std::string& name) { return has_entries_but_images(list_inside(source, name)); }) &&
         std::ranges::none_of(source.listing.folders, [&](const std::string& name) {
           return !is_split_name(name) && has_images(list_inside(source, name));
         });
}

// The folder of exactly this name, else of this name in another case; "" if there is none.
std::string folder_named(const std::vector<std::string>& folders, const std::string& name) {
  const auto exact = std::ranges::find(folders, name);
  if (exact != folders.end()) return *exact;
  const auto other = std::ranges::find_if(folders, [&](const auto& folder) { return lower(folder) == lower(name); });
  return other == folders.end() ? "" : *other;
}

}  // namespace

std::string choose_split_folder(const Source& source, const std::string& split) {
  const std::vector<std::string>& folders = source.listing.folders;
  std::vector<std::string> named;
  std::ranges::copy_if(folders, std::back_inserter(named), is_split_name);
  const std::string names = join(named);
  std::stable_partition(named.begin(), named.end(),
                        [](const std::string& name) { return lower(name).starts_with("train"); });
  const std::string shown = shown_name(source.path.substr(0, source.path.find_last_not_of('/') + 1));
  const std::string folder = split.empty() ? "" : folder_named(folders, split);
  const bool splits = holds_splits(source, named);
  if (!folder.empty() && (splits || !list_inside(source, folder).folders.empty())) return folder;
  if (!splits && split.empty()) return "";
  if (!splits)
    throw argument_error("open image folder {}: split '{}' is not available: the subfolders are classes: {}", shown,
                         split, describe(source.listing));
  if (split.empty())
    throw input_error(
        "open image folder {0}: the subfolders are splits ({1}); expected classes. Choose a split, for example "
        "split=\"{2}\" (--split {2}), or open {0}/{2}.",
        shown, names, named.front());
  throw argument_error("open image folder {}: no split '{}'; available: {}", shown, split, names);
}

}  // namespace unstarve
