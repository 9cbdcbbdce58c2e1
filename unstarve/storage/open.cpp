#include "unstarve/storage/open.h"

#include <array>
#include <cerrno>
#include <filesystem>

#include "unstarve/core/error.h"
#include "unstarve/storage/cifar.h"
#include "unstarve/storage/format.h"
#include "unstarve/storage/image_folder.h"
#include "unstarve/storage/sleep_source.h"
#include "unstarve/storage/synthetic.h"

namespace unstarve {
namespace {

constexpr std::array<Format, 4> kFormats = {{
    {"synthetic", "synthetic:classes=10,images=2000,size=32,seed=1", recognises_synthetic, open_synthetic},
    {"sleep", "sleep:ms=5,images=100,size=32", recognises_sleep, open_sleep},
    {"CIFAR binary", "data_batch_1.bin or train.bin and its siblings", recognises_cifar, open_cifar},
    {"image folder", "one folder of *.jpg, *.jpeg or *.png per class", recognises_image_folder, open_image_folder},
}};

std::string known_formats() {
  std::string text;
  for (const Format& format : kFormats) {
    text += (text.empty() ? "" : "; ") + std::string(format.name) + " (" + format.expects + ")";
  }
  return text;
}

std::string describe_names(const std::vector<std::string>& names, const char* one, const char* many) {
  constexpr std::size_t kShown = 5;
  std::string text = std::to_string(names.size()) + " " + (names.size() == 1 ? one : many);
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) text += (i == 0 ? " (" : ", ") + names[i];
  if (names.size() > kShown) text += ", ...";
  return names.empty() ? text : text + ")";
}

}  // namespace

std::string describe(const FolderListing& listing) {
  return describe_names(listing.folders, "folder", "folders") + ", " + describe_names(listing.files, "file", "files");
}

Source look_at(const std::string& text) {
  Source source{text, false, false, {}};
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(text, failed);
  if (failed && status.type() == std::filesystem::file_type::none) throw io_error("open", text, failed.value());
  source.exists = std::filesystem::exists(status);
  source.folder = std::filesystem::is_directory(status);
  if (source.folder) source.listing = list_folder(text);
  return source;
}

std::shared_ptr<const Dataset> open_dataset(const std::string& path, const std::string& split) {
  if (path.empty()) throw Error(ErrorKind::kArgument, "open: the path of the data set is empty");
  const Source source = look_at(path);
  const Format* chosen = nullptr;
  for (const Format& format : kFormats) {
    if (!format.recognises(source)) continue;
    if (chosen != nullptr) {
      throw Error(ErrorKind::kInput, "open " + path + ": mixed formats, both " + chosen->name + " and " + format.name +
                                         "; found " + describe(source.listing) + "; keep each in a folder of its own");
    }
    chosen = &format;
  }
  if (chosen != nullptr) return chosen->open(source, split);
  if (!source.exists) throw io_error("open", path, ENOENT);
  if (!source.folder) {
    throw Error(ErrorKind::kInput, "open " + path + ": a file of no known format; known: " + known_formats());
  }
  if (source.listing.folders.empty() && source.listing.files.empty()) {
    throw Error(ErrorKind::kInput, "open " + path + ": the folder is empty; known: " + known_formats());
  }
  throw Error(ErrorKind::kInput,
              "open " + path + ": no known format; found " + describe(source.listing) + "; known: " + known_formats());
}

}  // namespace unstarve
