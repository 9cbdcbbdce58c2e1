// The validation images of ImageNet have no class in their names: line i of the devkit's ground truth is the class
// number of image i, and meta.mat maps numbers to classes.
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/prepare/layout.h"
#include "unstarve/jobs/prepare/mat_file.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

std::vector<int> ground_truth(const fs::path& file) {
  const std::string text = read_text_file(file);
  std::vector<int> classes;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) continue;
    int number = 0;
    const auto [end, status] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (status != std::errc() || end != line.data() + line.size()) {
      throw Error(ErrorKind::kInput, fmt::format("{}: line {} is not a number", file.string(), classes.size() + 1));
    }
    classes.push_back(number);
  }
  return classes;
}

// Moves the file unless an earlier run has moved it.
void move_image(const fs::path& val, const std::string& image, const std::string& wnid) {
  const fs::path from = val / image, to = val / wnid / image;
  if (::rename(from.c_str(), to.c_str()) == 0) return;
  const int reason = errno;
  if (reason != ENOENT) throw io_error("move " + image + " to", to.string(), reason);
  if (!fs::exists(to)) {
    throw Error(ErrorKind::kInput,
                "prepare: the devkit has a class for " + image + ", which is missing in " + val.string());
  }
}

}  // namespace

void sort_imagenet_val(const fs::path& folder) {
  const fs::path devkit = folder / kDevkitFolder, val = folder / "val", mat = devkit / "data/meta.mat";
  const MappedFile bytes(mat);
  const std::map<int, std::string> classes = parse_imagenet_classes(bytes.bytes(), mat.string());
  const fs::path truth = devkit / "data/ILSVRC2012_validation_ground_truth.txt";
  const std::vector<int> numbers = ground_truth(truth);
  for (const auto& [number, wnid] : classes) fs::create_directories(val / wnid);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto found = classes.find(numbers[i]);
    if (found == classes.end()) {
      throw Error(ErrorKind::kInput,
                  fmt::format("{}: line {}: class {} is not in meta.mat", truth.string(), i + 1, numbers[i]));
    }
    move_image(val, fmt::format("ILSVRC2012_val_{:08}.JPEG", i + 1), found->second);
  }
}

}  // namespace unstarve
