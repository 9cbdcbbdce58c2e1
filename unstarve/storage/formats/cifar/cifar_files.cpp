#include "unstarve/storage/formats/cifar/cifar_files.h"

#include <algorithm>
#include <filesystem>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/remote/remote.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {
namespace {

void take_present(const std::vector<std::string>& present, const std::string& name, std::vector<std::string>& files) {
  if (std::find(present.begin(), present.end(), name) != present.end()) files.push_back(name);
}

// The published training set has batches 1 to 5. A shorter set is accepted; a gap means that a file was lost.
void reject_gap(const CifarVersion& version, const CifarFiles& found, const std::string& folder) {
  if (found.layout != version.ten) return;
  for (std::size_t i = 0; i < found.train.size(); ++i) {
    const std::string expected = fmt::format("data_batch_{}{}", i + 1, version.ending);
    if (found.train[i] != expected) {
      throw input_error("open {}: {} is missing although {} exists", folder, expected, found.train[i]);
    }
  }
}

}  // namespace

CifarFiles find_cifar_10(const CifarVersion& version, const std::vector<std::string>& present) {
  CifarFiles found{version.ten};
  for (int i = 1; i <= 5; ++i) take_present(present, fmt::format("data_batch_{}{}", i, version.ending), found.train);
  take_present(present, std::string("test_batch") + version.ending, found.test);
  return found;
}

CifarFiles find_cifar_100(const CifarVersion& version, const std::vector<std::string>& present) {
  CifarFiles found{version.hundred};
  take_present(present, std::string("train") + version.ending, found.train);
  take_present(present, std::string("test") + version.ending, found.test);
  return found;
}

CifarSelection select_cifar_files(const CifarVersion& version, const Source& source, const std::string& split) {
  const std::string shown = shown_name(source.text);
  const std::string folder = source.path + (source.path.ends_with('/') ? "" : "/");
  const CifarFiles ten = find_cifar_10(version, source.listing.files);
  const CifarFiles hundred = find_cifar_100(version, source.listing.files);
  if (ten.any() && hundred.any()) {
    throw input_error(
        "open {}: both CIFAR-10 and CIFAR-100 files; found {}. Pass one file, or a folder with one format.", shown,
        describe(source.listing));
  }
  const CifarFiles& found = ten.any() ? ten : hundred;
  reject_gap(version, found, shown);
  if (!split.empty() && split != "train" && split != "test") {
    throw argument_error("open {}: no split '{}'; {} has train and test", shown, split, found.layout->name);
  }
  if (split.empty() && !found.train.empty() && !found.test.empty()) report_both_splits(shown);
  CifarSelection selection{found.layout};
  if (split != "test")
    for (const std::string& name : found.train) selection.files.push_back(folder + name);
  if (split != "train")
    for (const std::string& name : found.test) selection.files.push_back(folder + name);
  if (selection.files.empty()) {
    throw input_error("open {}: no file of the split '{}'; found {}", shown, split, describe(source.listing));
  }
  return selection;
}

CifarPath::CifarPath(const std::string& path) {
  const std::size_t end = is_url(path) ? std::min(path.find('?'), path.size()) : path.size();
  const std::size_t base = path.rfind('/', end) + 1;
  folder = path.substr(0, base);
  name = path.substr(base, end - base);
  has_query = end < path.size();
}

bool exists_next_to(const CifarPath& path, const std::string& name) {
  if (path.has_query) return false;
  const std::string file = path.folder + name;
  return is_url(file) ? RemoteStore::of_process().find(file) != nullptr : std::filesystem::exists(file);
}

std::vector<std::string> numbered_classes(const CifarLayout& layout) {
  std::vector<std::string> numbers;
  for (int i = 0; i < layout.classes; ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

}  // namespace unstarve
