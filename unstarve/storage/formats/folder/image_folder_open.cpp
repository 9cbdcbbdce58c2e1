// Recognises image folders and selects the split.
#include <algorithm>
#include <array>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/folder/bucket_folder.h"
#include "unstarve/storage/formats/folder/image_folder.h"

namespace unstarve {
namespace {

constexpr std::array<std::string_view, 5> kSplits = {"train", "test", "val", "valid", "validation"};

bool is_split_name(const std::string& name) { return std::find(kSplits.begin(), kSplits.end(), name) != kSplits.end(); }

FolderListing list_inside(const Source& source, const std::string& name) {
  const std::string path = source.path + "/" + name;
  return is_url(path) ? list_bucket_folder(path) : list_folder(path);
}

std::shared_ptr<const Dataset> open_folder_of(const std::string& path, const std::vector<std::string>& classes) {
  if (is_url(path)) return std::make_shared<BucketFolder>(path, classes);
  return std::make_shared<ImageFolder>(path);
}

// A split contains class folders and no images directly; a class that happens to be named "train" contains images.
bool holds_splits(const Source& source) {
  const std::vector<std::string>& folders = source.listing.folders;
  return !folders.empty() && std::all_of(folders.begin(), folders.end(), [&](const std::string& name) {
    if (!is_split_name(name)) return false;
    const FolderListing inside = list_inside(source, name);
    return !inside.folders.empty() && std::none_of(inside.files.begin(), inside.files.end(), has_image_extension);
  });
}

std::string join(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

}  // namespace

bool recognises_image_folder(const Source& source) { return source.folder && !source.listing.folders.empty(); }

std::shared_ptr<const Dataset> open_image_folder(const Source& source, const std::string& split) {
  const std::vector<std::string>& folders = source.listing.folders;
  if (!holds_splits(source)) {
    if (!split.empty()) {
      throw Error(ErrorKind::kArgument,
                  "open image folder " + source.text + ": split '" + split +
                      "' is not available: the subfolders are classes: " + describe(source.listing));
    }
    return open_folder_of(source.path, folders);
  }
  if (split.empty()) {
    throw Error(ErrorKind::kInput, "open image folder " + source.text + ": the subfolders are splits (" +
                                       join(folders) + "); expected classes. Choose a split, for example " +
                                       source.text + "/" +
                                       (std::count(folders.begin(), folders.end(), "train") ? "train" : folders[0]));
  }
  if (std::find(folders.begin(), folders.end(), split) == folders.end()) {
    throw Error(ErrorKind::kArgument,
                "open image folder " + source.text + ": no split '" + split + "'; available: " + join(folders));
  }
  return open_folder_of(source.path + "/" + split, list_inside(source, split).folders);
}

}  // namespace unstarve
