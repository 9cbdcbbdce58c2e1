#pragma once
// The catalogue of well-known datasets: description, licence, and the published archives with their checksums.
// `unstarve datasets` prints it; `unstarve prepare` uses it.
//
// Custom datasets: a JSON file in the format that `unstarve datasets --json` prints. An entry with a known name
//                  replaces the known entry.
//
//   {"unstarve_catalogue": 1, "datasets": [
//     {"name": "mine", "title": "My photographs", "layout": "files", "splits": {"train": 800, "val": 200},
//      "archives": [
//        {"file": "train.tar", "sha256": "...", "split": "train", "inside": "photos/train", "to": "train"},
//        {"file": "val.zip", "md5": "...", "url": "https://host/val.zip", "split": "val", "to": "val"}]}]}
//
//   Required: name, title, layout and archives, each with a file. 0 and "" mean: not published.
//
// Sources:  the pages of the authors; sizes and SHA-256 from the catalogue of TensorFlow Datasets and MD5 from
//           torchvision if the authors publish none. Unpublished values are left out.
// Threads:  pure functions except for reading the file.
// Failure:  Error(kInput) with file and key; Error(kArgument) for an unknown name, with the list of known names.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/enum_words.h"

namespace unstarve {

struct PublishedArchive {
  std::string file;             // published name
  std::uint64_t bytes = 0;      // 0: not published
  std::string md5{}, sha256{};  // lower-case hexadecimal
  std::string url{};            // "": cannot be downloaded automatically; the note of the entry explains how to get it
  std::string split{};          // the only split that needs it; "": all splits
  std::string member{};         // name of the archive inside this archive
  std::string inside{};         // the folder to unpack; the rest is skipped
  std::string to{};             // destination below the dataset's folder
  bool each = false;            // an archive of archives: each is unpacked to a folder of its name
  std::vector<std::string> leave_out{};  // names in `inside` to skip
};

// An unsupported variant of the dataset, which is recognised only to give a reason in the error message.
struct OtherForm {
  std::string file, md5, reason;
};

struct SplitSize {
  std::string name;
  std::uint64_t samples = 0;  // 0: not checked
};

// The step after unpacking.
enum class PreparedLayout {
  kFiles,       // none: the unpacked files are readable
  kImageNet,    // sorts the numbered validation images into class folders by the devkit
  kCoco,        // writes a manifest from annotations/instances_FOLDER.json
  kOpenImages,  // writes a manifest from labels/*-annotations-human-imagelabels.csv
};
template <>
inline constexpr std::array<std::string_view, 4> kWords<PreparedLayout>{"files", "imagenet", "coco", "open-images"};

struct CatalogueEntry {
  std::string name, title, purpose, licence, home;
  std::string published;  // the structure of the archives, in one sentence
  std::string note;       // prerequisites, e.g. an account
  std::uint64_t classes = 0;
  std::vector<SplitSize> splits;  // as published; empty: no published splits
  PreparedLayout layout = PreparedLayout::kFiles;
  std::vector<PublishedArchive> archives;
  std::vector<OtherForm> other_forms;

  // 0 if the size of an archive is not published.
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::uint64_t samples() const;
};

// The known datasets and those of the file `extra`, if given.
[[nodiscard]] std::vector<CatalogueEntry> load_catalogue(const std::filesystem::path& extra = {});
[[nodiscard]] const CatalogueEntry& find_dataset(const std::vector<CatalogueEntry>& catalogue, std::string_view name);
[[nodiscard]] std::vector<CatalogueEntry> parse_catalogue(std::string_view json, const std::string& file);

[[nodiscard]] std::string to_json(const std::vector<CatalogueEntry>& catalogue);
[[nodiscard]] std::string to_text(const std::vector<CatalogueEntry>& catalogue);

// The entries of known_datasets.inl.
[[nodiscard]] std::vector<CatalogueEntry> known_datasets();

}  // namespace unstarve
