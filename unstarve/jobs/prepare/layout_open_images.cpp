// Open Images: file names are image ids; the label files list all nine million images, and rows of missing images are
// skipped.
//
//   labels/*class-descriptions.csv                   LabelName,DisplayName     /m/011k07,Tortoise
//   labels/*SPLIT-annotations-human-imagelabels.csv  ImageID,Source,LabelName,Confidence     Confidence 1: present
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/prepare/layout.h"
#include "unstarve/storage/source/folder_scan.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// The fields of one CSV line (RFC 4180 without line breaks in quotes).
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

template <class Visit>
void each_line(const fs::path& file, const Visit& visit) {
  const MappedFile map(file);
  std::string_view rest(reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size());
  for (std::uint64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty()) visit(line, number);
  }
}

class Labels {
 public:
  void read_names(const fs::path& file, std::vector<std::string>& names) {
    each_line(file, [&](std::string_view line, std::uint64_t number) {
      const std::vector<std::string> fields = fields_of(line);
      if (fields.size() < 2) throw short_line(file, number);
      if (fields[0] == "LabelName") return;  // header
      if (numbers_.emplace(fields[0], static_cast<std::uint32_t>(names.size())).second) names.push_back(fields[1]);
    });
  }
  void expect(const std::string& image) { labels_of_[image]; }
  void read_labels(const fs::path& file) {
    each_line(file, [&](std::string_view line, std::uint64_t number) {
      const std::string image(line.substr(0, line.find(',')));
      const auto found = labels_of_.find(image);
      if (found == labels_of_.end()) return;
      const std::vector<std::string> fields = fields_of(line);
      if (fields.size() < 4) throw short_line(file, number);
      if (!fields[3].starts_with('1')) return;  // verified as absent
      const auto label = numbers_.find(fields[2]);
      if (label == numbers_.end()) return;  // a label without a name
      std::vector<std::uint32_t>& labels = found->second;
      if (std::ranges::find(labels, label->second) == labels.end()) labels.push_back(label->second);
    });
  }
  [[nodiscard]] const std::vector<std::uint32_t>& labels_in(const std::string& image) const {
    return labels_of_.at(image);
  }

 private:
  static Error short_line(const fs::path& file, std::uint64_t number) {
    return Error(ErrorKind::kInput, file.string() + ": line " + std::to_string(number) + " has too few fields");
  }

  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> labels_of_;
};

std::vector<std::string> image_files(const fs::path& folder) {
  std::vector<std::string> files = list_folder(folder.string()).files;
  std::erase_if(files, [](const std::string& file) { return !has_image_extension(file); });
  return files;
}

}  // namespace

void add_open_images_rows(const fs::path& folder, const std::vector<PublishedArchive>& archives,
                          ManifestText& manifest) {
  Labels labels;
  std::vector<std::pair<std::string, std::string>> folders;  // image folder and its split
  for (const PublishedArchive& archive : archives) {
    if (archive.to == "labels") continue;
    const std::pair<std::string, std::string> folder_and_split{archive.to, archive.split};
    if (std::ranges::find(folders, folder_and_split) == folders.end()) folders.push_back(folder_and_split);
  }
  std::vector<std::vector<std::string>> files;
  for (const auto& [images, split] : folders) {
    files.push_back(image_files(folder / images));
    for (const std::string& file : files.back()) labels.expect(fs::path(file).stem());
  }
  const fs::path lists = folder / "labels";
  for (const std::string& file : list_folder(lists.string()).files) {
    if (file.ends_with("class-descriptions.csv")) labels.read_names(lists / file, manifest.classes);
  }
  for (const std::string& file : list_folder(lists.string()).files) {
    if (file.ends_with("-annotations-human-imagelabels.csv")) labels.read_labels(lists / file);
  }
  for (std::size_t i = 0; i < folders.size(); ++i) {
    for (const std::string& file : files[i]) {
      manifest.add(folders[i].first + "/" + file, folders[i].second, labels.labels_in(fs::path(file).stem()));
    }
  }
}

}  // namespace unstarve
