// Reads COCO's instances_*.json (half a gigabyte for the training images) as a stream, so that only image names and the
// class and area of each object are in memory.
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

struct Image {
  std::int64_t id = 0;
  std::string file;
};

struct Object {
  std::int64_t image = 0;
  std::int32_t category = 0;
  float area = 0;
};

// Reads the objects of the top-level arrays; deeper levels are skipped.
class InstancesReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<Image> images;
  std::vector<Object> objects;
  std::map<std::int64_t, std::string> categories;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return take(value, static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return take(static_cast<std::int64_t>(value), static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return take(0, value); }
  bool string(string_t& value) override {
    if (depth_ != 3) return true;
    if (key_ == "file_name") file_ = value;
    if (key_ == "name") name_ = value;
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& value) override {
    if (depth_ == 1) section_ = value;
    if (depth_ == 3) key_ = value;
    return true;
  }
  bool start_object(std::size_t) override {
    if (++depth_ == 3) {
      id_ = image_ = category_ = -1;
      area_ = 0;
      file_.clear();
      name_.clear();
    }
    return true;
  }
  bool end_object() override {
    if (depth_-- == 3) finish();
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    problem = "at byte " + std::to_string(position) + ": " + error.what();
    return false;
  }

  std::string problem;

 private:
  bool take(std::int64_t whole, double value) {
    if (depth_ != 3) return true;
    if (key_ == "id") id_ = whole;
    if (key_ == "image_id") image_ = whole;
    if (key_ == "category_id") category_ = whole;
    if (key_ == "area") area_ = value;
    return true;
  }
  void finish() {
    if (section_ == "images" && !file_.empty()) images.push_back({id_, file_});
    if (section_ == "annotations" && image_ >= 0) {
      objects.push_back({image_, static_cast<std::int32_t>(category_), static_cast<float>(area_)});
    }
    if (section_ == "categories" && !name_.empty()) categories[id_] = name_;
  }

  int depth_ = 0;
  std::string section_, key_, file_, name_;
  std::int64_t id_ = -1, image_ = -1, category_ = -1;
  double area_ = 0;
};

InstancesReader read_instances(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(ErrorKind::kIo, "open " + file.string() + ": not readable");
  InstancesReader reader;
  const bool whole = nlohmann::json::sax_parse(in, static_cast<nlohmann::json_sax<nlohmann::json>*>(&reader));
  if (!whole) throw Error(ErrorKind::kInput, file.string() + ": " + reader.problem);
  if (reader.images.empty()) throw Error(ErrorKind::kInput, file.string() + ": no images listed");
  return reader;
}

// The distinct classes of an image, that of the largest object first.
std::vector<std::uint32_t> labels_of(const InstancesReader& instances, std::int64_t image, const fs::path& file) {
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
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
  }
  return labels;
}

void take_classes(const InstancesReader& instances, const fs::path& file, ManifestText& manifest) {
  std::vector<std::string> names;
  for (const auto& [id, name] : instances.categories) names.push_back(name);
  if (manifest.classes.empty()) manifest.classes = names;
  if (manifest.classes != names) {
    throw Error(ErrorKind::kInput, file.string() + ": the categories differ from those of another split");
  }
}

}  // namespace

void add_coco_rows(const fs::path& folder, const std::string& images, const std::string& split,
                   ManifestText& manifest) {
  const fs::path file = folder / "annotations" / ("instances_" + images + ".json");
  InstancesReader instances = read_instances(file);
  take_classes(instances, file, manifest);
  std::sort(instances.images.begin(), instances.images.end(),
            [](const Image& a, const Image& b) { return a.file < b.file; });
  std::stable_sort(instances.objects.begin(), instances.objects.end(), [](const Object& a, const Object& b) {
    return a.image != b.image ? a.image < b.image : a.area > b.area;
  });
  for (const Image& image : instances.images) {
    if (leaves_folder(image.file)) throw Error(ErrorKind::kInput, file.string() + ": refused file_name " + image.file);
    const std::string path = images + "/" + image.file;
    std::error_code failed;  // also for a name that is too long
    if (!fs::exists(folder / path, failed)) {
      throw Error(ErrorKind::kInput, file.string() + " lists " + image.file + ", which is missing");
    }
    manifest.add(path, split, labels_of(instances, image.id, file));
  }
}

}  // namespace unstarve
