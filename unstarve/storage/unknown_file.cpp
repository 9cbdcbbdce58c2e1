#include "unstarve/storage/unknown_file.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

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
    "a Python pickle, which may run code. Only the files of CIFAR are read, by their published names (data_batch_1, "
    "test_batch, train, test): rename it, or save the images as .npy";

constexpr const char* kImage = "an image of an unsupported format: convert it to JPEG, PNG or WebP";

// The magic numbers of the formats' own specifications.
constexpr std::array<Beginning, 13> kBeginnings = {{
    {"FEA1"sv, "a Feather file of version 1, which is not supported: write version 2, or Parquet"},
    {"\x80\x02"sv, kPickle},
    {"\x80\x03"sv, kPickle},
    {"\x80\x04"sv, kPickle},
    {"\x80\x05"sv, kPickle},
    {"BZh"sv, "compressed with bzip2, which is not supported: decompress it, or use gzip or Zstandard"},
    {"\xfd"
     "7zXZ\0"sv,
     "compressed with xz, which is not supported: decompress it, or use gzip or Zstandard"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive, which is not supported: unpack it"},
    {"PK\x03\x04"sv, "a zip archive, which is not supported: unpack it"},
    {"GIF8"sv, kImage},
    {"II*\0"sv, kImage},
    {"MM\0*"sv, kImage},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file, which is not supported: write its images as .npy, or pack them"},
}};

constexpr const char* kLitData =
    "written by LitData, which is not supported: pack the original images with `unstarve pack`";
constexpr const char* kBeton = "an FFCV file, which is not supported: pack the original images with `unstarve pack`";

// In lower case, without surrounding blanks.
std::string beginning_of_text(std::span<const std::uint8_t> head) {
  return lower(trim(as_text(head.first(std::min<std::size_t>(head.size(), 200)))));
}

constexpr const char* kVideo = "a video, which is not supported: save its frames as JPEG";
constexpr const char* kLmdb =
    "an LMDB database, which is not supported: pack the original images with `unstarve pack`, or read it with "
    "un.from_source() in Python";

// Zip archives with contents of their own, by name.
constexpr std::array<Beginning, 3> kZipEndings = {{
    {".npz"sv, "an .npz file, which is not supported: save its arrays as .npy"},
    {".pt"sv, "a file of torch.save(), which is not supported: save its images as .npy"},
    {".pth"sv, "a file of torch.save(), which is not supported: save its images as .npy"},
}};

// Formats without magic numbers, by name.
constexpr std::array<Beginning, 13> kEndings = {{
    {".mdb"sv, kLmdb},
    {".mp4"sv, kVideo},
    {".mkv"sv, kVideo},
    {".mov"sv, kVideo},
    {".avi"sv, kVideo},
    {".webm"sv, kVideo},
    {".arrow"sv, "named as an Arrow file, but damaged or of a version before 0.15: write it again"},
    {".parquet"sv, "named as Parquet, but does not begin with PAR1: damaged, or another format"},
    {".tar"sv, "named as a tar archive, but the checksum of its first header is wrong: damaged, or another format"},
    {".beton"sv, kBeton},
    {".bmp"sv, kImage},
    {".avif"sv, kImage},
    {".heic"sv, kImage},
}};

bool is_named_as_list(const std::string& name) {
  return std::ranges::any_of(std::array{".csv", ".tsv", ".jsonl", ".ndjson", ".json"},
                             [&](const char* ending) { return name.ends_with(ending); });
}

}  // namespace

std::string describe_unknown_file(const std::string& name, std::span<const std::uint8_t> head) {
  const std::string_view bytes = as_text(head);
  if (bytes.empty()) return ": it is empty";
  if (bytes.starts_with("PK\x03\x04"))
    for (const Beginning& one : kZipEndings)
      if (name.ends_with(one.bytes)) return std::string(": it is ") + one.what;
  for (const Beginning& one : kBeginnings)
    if (bytes.starts_with(one.bytes)) return std::string(": it is ") + one.what;
  if (bytes.find_first_not_of('\0') == std::string_view::npos)
    return name.ends_with(".tar") ? ": it contains only zeros, as a tar without members: write it again with its files"
                                  : ": it begins with zeros only: damaged, or not written completely";
  const std::string text = beginning_of_text(head);
  if (text.starts_with("<!doctype html") || text.starts_with("<html")) {
    return ": it is a web page, perhaps a login or error page: open it in a browser";
  }
  for (const Beginning& one : kEndings)
    if (name.ends_with(one.bytes)) return std::string(": it is ") + one.what;
  if (name.ends_with("index.json") && bytes.find("\"chunks\"") != std::string_view::npos)
    return std::string(": it is ") + kLitData;
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
  if (ends(".arrow")) return "Arrow files that are damaged or of a version before 0.15: write them again";
  if (has("state.json") && has("dataset_info.json"))
    return "saved by Hugging Face datasets, but without its *.arrow files: save or copy it again";
  if (has("data_batch_1") || (has("train") && has("meta")))
    return "named as the Python version of CIFAR, but its files are not pickles: download it again, or use `unstarve "
           "prepare cifar10`";
  if (ends(".beton")) return kBeton;
  if (has("data.mdb")) return kLmdb;
  for (const Beginning& one : kEndings)
    if (one.what == kVideo && ends(one.bytes)) return "videos, which are not supported: save their frames as JPEG";
  if (std::ranges::any_of(listing.files, has_unread_image_extension))
    return "images of an unsupported format: convert them to JPEG, PNG or WebP";
  if (has("index.json") && ends(".bin")) return kLitData;
  if (has("index.json"))
    return "a folder whose index.json does not belong to MDS, possibly to LitData, which is not supported: pack the "
           "original images with `unstarve pack`";
  return "";
}

}  // namespace unstarve
