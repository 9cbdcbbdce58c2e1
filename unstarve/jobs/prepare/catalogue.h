#pragma once
// The well-known data sets: what each is, under which terms, and which archives its authors publish, with the checksums
// that tell them. `unstarve datasets` prints it; `unstarve prepare` works by it.
//
// One's own sets:  a JSON file of the form that `unstarve datasets --json` prints. A set of a name that is known
//                  takes the place of the known one.
//
//   {"unstarve_catalogue": 1, "datasets": [
//     {"name": "mine", "title": "My photographs", "layout": "files", "splits": {"train": 800, "val": 200},
//      "archives": [
//        {"file": "train.tar", "sha256": "...", "split": "train", "inside": "photos/train", "to": "train"},
//        {"file": "val.zip", "md5": "...", "url": "https://host/val.zip", "split": "val", "to": "val"}]}]}
//
//   name, title, layout and archives with a file each are needed. Of numbers 0, of texts "" means: not published.
//
// Facts:    of the authors' pages; sizes and SHA-256 where these have none as the catalogues of TensorFlow Datasets and
//           torchvision (MD5) keep them. What is published nowhere is left out.
// Threads:  pure functions but for reading the file. Failure: Error(kInput) with file and key, Error(kArgument) for a
//           name that is not there (with the names that are).

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

struct PublishedArchive {
  std::string file;                      // its published name
  std::uint64_t bytes = 0;               // 0: not published
  std::string md5{}, sha256{};           // lower-case hexadecimal
  std::string url{};                     // "": nobody may fetch it unasked (the entry's note tells how to come by it)
  std::string split{};                   // the only split that needs it; "": every one
  std::string member{};                  // the archive inside of this one that is meant
  std::string inside{};                  // the folder in it whose content is wanted; the rest is passed over
  std::string to{};                      // where that goes, below the data set's folder
  bool each = false;                     // it is an archive of archives: each becomes a folder of its name
  std::vector<std::string> leave_out{};  // names in `inside` that are not wanted
};

// Another form of the same set, that is told and refused.
struct OtherForm {
  std::string file, md5, reason;
};

struct SplitSize {
  std::string name;
  std::uint64_t samples = 0;  // 0: not checked
};

// What is done after unpacking.
enum class PreparedLayout {
  kFiles,       // nothing: our readers open what was unpacked
  kImageNet,    // val's images, numbered, go into the folders of their classes by the devkit
  kCoco,        // a manifest from annotations/instances_FOLDER.json
  kOpenImages,  // a manifest from labels/*-annotations-human-imagelabels.csv
};
[[nodiscard]] const char* to_string(PreparedLayout layout) noexcept;

struct CatalogueEntry {
  std::string name, title, purpose, licence, home;
  std::string published;  // how the archives are laid out, in a sentence
  std::string note;       // what must be known before: an account, say
  std::uint64_t classes = 0;
  std::vector<SplitSize> splits;  // as published; empty: the set is published without
  PreparedLayout layout = PreparedLayout::kFiles;
  std::vector<PublishedArchive> archives;
  std::vector<OtherForm> other_forms;

  // 0 when an archive's size is not published.
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::uint64_t samples() const;
};

// The known sets and, with a path, those of the file.
[[nodiscard]] std::vector<CatalogueEntry> load_catalogue(const std::filesystem::path& extra = {});
[[nodiscard]] const CatalogueEntry& find_dataset(const std::vector<CatalogueEntry>& catalogue, std::string_view name);
[[nodiscard]] std::vector<CatalogueEntry> parse_catalogue(std::string_view json, const std::string& file);

[[nodiscard]] std::string to_json(const std::vector<CatalogueEntry>& catalogue);
[[nodiscard]] std::string to_text(const std::vector<CatalogueEntry>& catalogue);

// The table of catalogue_entries.cpp.
[[nodiscard]] std::vector<CatalogueEntry> known_datasets();

}  // namespace unstarve
