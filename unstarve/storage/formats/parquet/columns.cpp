#include "unstarve/storage/formats/parquet/columns.h"

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

// Column names of published datasets, in order of preference.
constexpr std::array<const char*, 7> kImageColumns = {"image", "img", "jpg", "jpeg", "png", "webp", "picture"};
constexpr std::array<const char*, 6> kLabelColumns = {"label", "labels", "fine_label", "cls", "class", "target"};

std::string describe(std::span<const ParquetLeaf> leaves) {
  constexpr std::size_t kShown = 20;
  std::string text;
  for (std::size_t i = 0; i < leaves.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : ", ") + leaves[i].path + " (" + leaves[i].type_name + (leaves[i].repeated ? " list)" : ")");
  }
  return leaves.size() > kShown ? text + ", ..." : text;
}

int leaf_at(std::span<const ParquetLeaf> leaves, const std::string& path) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].path == path) return static_cast<int>(i);
  }
  return -1;
}

// The first column of the first of these names that fits. `any_case`: "Image" matches "image".
int find_leaf(std::span<const ParquetLeaf> leaves, const std::vector<std::string>& names, bool any_case,
              const std::function<bool(const ParquetLeaf&)>& fits) {
  for (const std::string& name : names) {
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const bool same = any_case ? lower(leaves[i].path) == lower(name) : leaves[i].path == name;
      if (same && fits(leaves[i])) return static_cast<int>(i);
    }
  }
  return -1;
}

bool is_image(const ParquetLeaf& leaf) { return leaf.type == LeafType::kBytes && !leaf.repeated && !leaf.encoded; }
bool is_label(const ParquetLeaf& leaf) { return leaf.type != LeafType::kOther && !leaf.repeated; }

[[noreturn]] void reject_name(std::span<const ParquetLeaf> leaves, const std::string& name, const char* what,
                              const char* expected) {
  if (leaf_at(leaves, name) >= 0)
    throw argument_error("column '{}' cannot be the {}; expected {}; available: {}", name, what, expected,
                         describe(leaves));
  throw argument_error("no column '{}' for the {} ({}); available: {}", name, what, expected, describe(leaves));
}

int choose_image(std::span<const ParquetLeaf> leaves, const HuggingFaceFeatures& features,
                 const std::string& requested) {
  if (!requested.empty()) {
    const int plain = leaf_at(leaves, requested);
    const int at = plain >= 0 ? plain : leaf_at(leaves, requested + ".bytes");
    if (at < 0 || !is_image(leaves[static_cast<std::size_t>(at)])) reject_name(leaves, requested, "image", "binary");
    return at;
  }
  std::vector<std::string> paths;
  const auto add = [&](const std::string& name) { paths.insert(paths.end(), {name, name + ".bytes"}); };
  std::ranges::for_each(kImageColumns, add);
  std::ranges::for_each(features.images, add);
  // A column of text, which may contain paths, only if there is no other.
  for (const bool text : {false, true}) {
    for (const bool any_case : {false, true}) {
      const int at = find_leaf(leaves, paths, any_case,
                               [&](const ParquetLeaf& leaf) { return is_image(leaf) && leaf.text == text; });
      if (at >= 0) return at;
    }
  }
  throw input_error(
      "no column of encoded images (binary; named image, img, jpg, jpeg, png, webp or picture); available: {}. Choose "
      "one with #image=NAME.",
      describe(leaves));
}

int choose_label(std::span<const ParquetLeaf> leaves, const HuggingFaceFeatures& features,
                 const std::string& requested) {
  if (!requested.empty()) {
    const int at = leaf_at(leaves, requested);
    if (at < 0 || !is_label(leaves[static_cast<std::size_t>(at)])) {
      reject_name(leaves, requested, "label", "integers or strings");
    }
    return at;
  }
  std::vector<std::string> names(kLabelColumns.begin(), kLabelColumns.end());
  for (const auto& [name, classes] : features.class_labels) names.push_back(name);
  const int same = find_leaf(leaves, names, false, [](const ParquetLeaf&) { return true; });
  if (same >= 0) return is_label(leaves[static_cast<std::size_t>(same)]) ? same : -1;
  return find_leaf(leaves, names, true, [](const ParquetLeaf& leaf) { return is_label(leaf); });
}

}  // namespace

HuggingFaceFeatures parse_huggingface(std::string_view text) {
  HuggingFaceFeatures found;
  const nlohmann::json json = try_parse_json(text);
  const auto at = [](const nlohmann::json& object, const char* key) -> const nlohmann::json& {
    static const nlohmann::json kNothing;
    const auto member = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && member != object.end() ? *member : kNothing;
  };
  for (const auto& [name, feature] : at(at(json, "info"), "features").items()) {
    if (at(feature, "_type") == "Image") found.images.push_back(name);
    if (at(feature, "_type") != "ClassLabel") continue;
    std::vector<std::string> classes;
    for (const nlohmann::json& each : at(feature, "names")) {
      if (each.is_string()) classes.push_back(each.get<std::string>());
    }
    if (classes.size() != at(feature, "names").size()) classes.clear();
    found.class_labels.emplace_back(name, std::move(classes));
  }
  return found;
}

ChosenColumns choose_columns(std::span<const ParquetLeaf> leaves, const HuggingFaceFeatures& features,
                             const std::string& image, const std::string& label) {
  ChosenColumns chosen;
  chosen.image = choose_image(leaves, features, image);
  if (label != kNoLabel) chosen.label = choose_label(leaves, features, label);
  if (chosen.label < 0) {
    if (label != kNoLabel) chosen.no_label = "the columns " + describe(leaves);
    return chosen;
  }
  const ParquetLeaf& leaf = leaves[static_cast<std::size_t>(chosen.label)];
  chosen.labels = leaf.type == LeafType::kWhole ? ParquetLabels::kNumbers : ParquetLabels::kNames;
  if (chosen.labels == ParquetLabels::kNames) return chosen;
  for (const auto& [name, classes] : features.class_labels) {
    if (name == leaf.path) chosen.class_names = classes;
  }
  return chosen;
}

}  // namespace unstarve
