#include "unstarve/storage/unknown_file.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/formats/folder/manifest_rows.h"

namespace unstarve {
namespace {

using namespace std::string_view_literals;

struct Beginning {
  std::string_view bytes;
  const char* what;
};

constexpr const char* kPickle =
    "a Python pickle, which is not read because it may run code. Use the binary version of CIFAR "
    "(`unstarve prepare cifar10`), or save the images as .npy";
constexpr const char* kArrow =
    "an Arrow file, which is not supported: write Parquet, for example with Dataset.to_parquet() of Hugging Face "
    "datasets";

// The magic numbers of the formats' own specifications.
constexpr std::array<Beginning, 8> kBeginnings = {{
    {"ARROW1"sv, kArrow},
    {"\x80\x02"sv, kPickle},
    {"\x80\x04"sv, kPickle},
    {"BZh"sv, "compressed with bzip2, which is not supported: decompress it, or use gzip or Zstandard"},
    {"\xfd"
     "7zXZ\0"sv,
     "compressed with xz, which is not supported: decompress it, or use gzip or Zstandard"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive, which is not supported: unpack it"},
    {"PK\x03\x04"sv, "a zip archive, which is not supported: unpack it"},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file, which is not supported: write its images as .npy, or pack them"},
}};

// In lower case, without surrounding blanks.
std::string beginning_of_text(std::span<const std::uint8_t> head) {
  return lower(trim(as_text(head.first(std::min<std::size_t>(head.size(), 200)))));
}

// Formats without magic numbers, by name.
constexpr std::array<Beginning, 2> kEndings = {{
    {".arrow"sv, kArrow},
    {".beton"sv, "an FFCV file, which is not supported: pack the original images with `unstarve pack`"},
}};

bool is_named_as_list(const std::string& name) {
  return std::ranges::any_of(std::array{".csv", ".tsv", ".jsonl", ".ndjson", ".json"},
                             [&](const char* ending) { return name.ends_with(ending); });
}

}  // namespace

std::string describe_unknown_file(const std::string& name, std::span<const std::uint8_t> head) {
  const std::string_view bytes = as_text(head);
  if (bytes.empty()) return ": it is empty";
  if (detect_encoding(head) != Encoding::kUnknown)
    return ": it is one image; pass a folder that has one folder per class, or a list of paths and labels";
  for (const Beginning& one : kBeginnings)
    if (bytes.starts_with(one.bytes)) return std::string(": it is ") + one.what;
  for (const Beginning& one : kEndings)
    if (name.ends_with(one.bytes)) return std::string(": it is ") + one.what;
  if (bytes.find_first_not_of('\0') == std::string_view::npos)
    return ": it contains only zeros, as a tar without members";
  const std::string text = beginning_of_text(head);
  if (text.starts_with("<!doctype html") || text.starts_with("<html")) {
    return ": it is a web page, perhaps a login or error page: open it in a browser";
  }
  if (!is_named_as_list(name)) return "";
  const std::string columns = join(manifest_columns(bytes, {}));
  if (columns.empty()) return "";
  return ": found the columns " + columns + ", none of which is known to contain image paths. Name it: " + name +
         "#path=COLUMN,label=COLUMN";
}

std::string describe_unknown_folder(const FolderListing& listing) {
  const auto has = [&](std::string_view name) { return std::ranges::find(listing.files, name) != listing.files.end(); };
  const auto ends = [&](std::string_view ending) {
    return std::ranges::any_of(listing.files, [&](const std::string& name) { return name.ends_with(ending); });
  };
  if (has("dataset_info.json") || has("dataset_dict.json") || ends(".arrow"))
    return "saved by Hugging Face datasets as Arrow files, which are not supported: write Parquet with "
           "load_from_disk(...).to_parquet()";
  if (has("data_batch_1") || has("batches.meta") || (has("train") && has("meta")))
    return "the Python version of CIFAR, whose pickles are not read because they may run code: use the binary version "
           "(`unstarve prepare cifar10`)";
  if (has("index.json") && ends(".bin"))
    return "written by LitData, which is not supported: pack the original images with `unstarve pack`";
  const auto images = std::ranges::count_if(listing.files, has_image_extension);
  if (images > 0)
    return std::to_string(images) + (images == 1 ? " image" : " images") +
           " without labels: move them to one folder per class, or list paths and "
           "labels in a CSV file and pass that";
  return "";
}

}  // namespace unstarve
