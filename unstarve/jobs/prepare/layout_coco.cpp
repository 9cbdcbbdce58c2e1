// Reads COCO's instances_*.json (half a gigabyte for the training images) element by element, so that only image names
// and the class and area of each object are in memory.
//
//   {"images": [{"id": 139, "file_name": "000000000139.jpg", ...}, ...],
//    "annotations": [{"image_id": 139, "category_id": 72, "area": 1481.38, ...}, ...],
//    "categories": [{"id": 72, "name": "tv", ...}, ...], ...}
#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/jobs/prepare/layout.h"
#include "unstarve/storage/source/safe_path.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct CocoImage {
  std::int64_t id = 0;
  std::string file;
};

struct Object {
  std::int64_t image = 0;
  std::int32_t category = 0;
  float area = 0;
};

struct Instances {
  std::vector<CocoImage> images;
  std::vector<Object> objects;
  std::map<std::int64_t, std::string> categories;
};

std::int64_t integer_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : -1;
}

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Adds one element of the array `section`.
void add_element(const std::string& section, const json& element, Instances& instances) {
  if (section == "images") {
    const std::string file = text_in(element, "file_name");
    if (!file.empty()) instances.images.push_back({integer_in(element, "id"), file});
  } else if (section == "annotations") {
    const auto area = element.find("area");
    const float pixels = area != element.end() && area->is_number() ? area->get<float>() : 0;
    const std::int64_t image = integer_in(element, "image_id");
    const auto category = static_cast<std::int32_t>(integer_in(element, "category_id"));
    if (image >= 0) instances.objects.push_back({image, category, pixels});
  } else {
    const std::string name = text_in(element, "name");
    if (!name.empty()) instances.categories[integer_in(element, "id")] = name;
  }
}

Instances read_instances(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(ErrorKind::kIo, "open " + file.string() + ": not readable");
  Instances instances;
  std::string section;
  const auto one_of = [](const json& key, std::initializer_list<const char*> names) {
    return std::ranges::find(names, key.get_ref<const std::string&>()) != names.end();
  };
  // Elements of the arrays are at depth 2. Returning false discards a value: nothing else is kept in memory.
  const auto take = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::key && depth == 1) {
      section = parsed.get<std::string>();
      return one_of(parsed, {"images", "annotations", "categories"});
    }
    if (event == json::parse_event_t::key && depth == 3)
      return one_of(parsed, {"id", "file_name", "name", "image_id", "category_id", "area"});
    if (event != json::parse_event_t::object_end || depth != 2) return true;
    add_element(section, parsed, instances);
    return false;
  };
  try {
    [[maybe_unused]] const json empty = json::parse(in, take);
  } catch (const json::exception& error) {
    throw Error(ErrorKind::kInput, file.string() + ": " + error.what());
  }
  if (instances.images.empty()) throw Error(ErrorKind::kInput, file.string() + ": no images listed");
  return instances;
}

// The distinct classes of an image, that of the largest object first.
std::vector<std::uint32_t> labels_of(const Instances& instances, std::int64_t image, const fs::path& file) {
  const auto [first, last] =
      std::equal_range(instances.objects.begin(), instances.objects.end(), Object{.image = image},
                       [](const Object& a, const Object& b) { return a.image < b.image; });
  std::vector<std::uint32_t> labels;
  for (auto object = first; object != last; ++object) {
    const auto category = instances.categories.find(object->category);
    if (category == instances.categories.end()) {
      throw Error(ErrorKind::kInput,
                  file.string() + ": an object has the unlisted category " + std::to_string(object->category));
    }
    const auto label = static_cast<std::uint32_t>(std::distance(instances.categories.begin(), category));
    if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
  }
  return labels;
}

void take_classes(const Instances& instances, const fs::path& file, ManifestText& manifest) {
  std::vector<std::string> names;
  for (const auto& [id, name] : instances.categories) names.push_back(name);
  if (manifest.classes.empty()) manifest.classes = names;
  if (manifest.classes != names) {
    throw Error(ErrorKind::kInput, file.string() + ": the categories differ between the splits");
  }
}

}  // namespace

void add_coco_rows(const fs::path& folder, const std::string& images, const std::string& split,
                   ManifestText& manifest) {
  const fs::path file = folder / "annotations" / ("instances_" + images + ".json");
  Instances instances = read_instances(file);
  take_classes(instances, file, manifest);
  std::ranges::sort(instances.images, [](const CocoImage& a, const CocoImage& b) { return a.file < b.file; });
  std::ranges::stable_sort(instances.objects, [](const Object& a, const Object& b) {
    return a.image != b.image ? a.image < b.image : a.area > b.area;
  });
  for (const CocoImage& image : instances.images) {
    if (leaves_folder(image.file))
      throw Error(ErrorKind::kInput, file.string() + ": file_name is outside the folder: " + image.file);
    const std::string path = images + "/" + image.file;
    std::error_code failed;  // also for a name that is too long
    if (!fs::exists(folder / path, failed)) {
      throw Error(ErrorKind::kInput, file.string() + " lists " + image.file + ", which is missing");
    }
    manifest.add(path, split, labels_of(instances, image.id, file));
  }
}

}  // namespace unstarve
