#include "unstarve/jobs/settings/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/machine/cpu_split.h"
#include "unstarve/device/device.h"
#include "unstarve/jobs/host/start_environment.h"
#include "unstarve/jobs/settings/recipes.h"
#include "unstarve/observe/accelerator.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/pipeline/spec/faults.h"
#include "unstarve/pipeline/spec/spec_document.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/pipeline/spec/yaml_map.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/train/settings_fields.h"
#include "unstarve/train/settings_in_use.h"
#include "unstarve/train/trainer.h"

namespace unstarve {
namespace {

// Images up to this side length are trained at their native size, e.g. CIFAR.
constexpr int kThumbnailSide = 40;
constexpr int kPhotographSide = 224;

int starting_batch(const std::string& device, int image_size) {
  if (device.starts_with("emulated:")) return find_accelerator(device.substr(9)).batch;
  if (device.starts_with("cuda")) return 256;
  return image_size > kThumbnailSide ? 32 : 256;
}

class ImageSizes {
 public:
  ImageSizes(const Dataset& dataset, std::int64_t max_pixels)
      : dataset_(dataset),
        max_pixels_(max_pixels),
        encoded_(dataset.field_index(FieldKind::kEncodedImage)),
        pixels_(dataset.field_index(FieldKind::kPixels)) {}
  Size read(std::uint64_t id) {
    dataset_.read(id, record_);
    return encoded_ >= 0 ? decoder_.open(record_.values[static_cast<std::size_t>(encoded_)].bytes, max_pixels_).size
                         : record_.values.at(static_cast<std::size_t>(pixels_)).pixels.size();
  }

 private:
  const Dataset& dataset_;
  std::int64_t max_pixels_;
  int encoded_, pixels_;
  RecordBuffer record_;
  Decoder decoder_;
};

// "optimiser.momentum" -> ("optimiser", "momentum"); a field without a group has the group "".
std::pair<std::string, std::string> group_and_key(const std::string& path) {
  const std::size_t dot = path.find('.');
  return dot == std::string::npos ? std::pair(std::string(), path)
                                  : std::pair(path.substr(0, dot), path.substr(dot + 1));
}

// Reads the fields of a section, such as train; fields of the paths `left_out` keep their values.
class FieldReader {
 public:
  explicit FieldReader(YamlMap map, std::set<std::string> left_out = {})
      : map_(std::move(map)), left_out_(std::move(left_out)) {}

  template <class T>
  void operator()(const FieldInfo& field, T& value) {
    faults_.collect([&] {
      T found = value;
      read(field, found);
      if (!left_out_.contains(field.path)) value = std::move(found);
    });
  }
  // Whether the section has this field.
  [[nodiscard]] bool has(const std::string& path) {
    const auto [group, key] = group_and_key(path);
    return map_of(group).has(key);
  }
  // Throws with all faults.
  void finish() {
    for (const auto& [name, group] : groups_) faults_.collect([&group = group] { group.finish(); });
    faults_.collect([&] { map_.finish(); });
    faults_.throw_if_any();
  }

 private:
  template <class T>
  void read(const FieldInfo& field, T& value) {
    const auto [group, key] = group_and_key(field.path);
    YamlMap& map = map_of(group);
    if constexpr (std::is_enum_v<T>) {
      const auto words = words_of<T>();
      std::string word(word_of(value));
      map.get(key, word);
      const auto found = std::ranges::find(words, word);
      if (found == words.end()) map.fail(key, fmt::format("{}; expected one of {}", word, fmt::join(words, ", ")));
      value = static_cast<T>(found - words.begin());
    } else {
      map.get(key, value);
    }
  }
  YamlMap& map_of(const std::string& group) {
    if (group.empty()) return map_;
    const auto found = groups_.find(group);
    return found != groups_.end() ? found->second : groups_.emplace(group, map_.map(group)).first->second;
  }

  YamlMap map_;
  const std::set<std::string> left_out_;
  std::map<std::string, YamlMap> groups_;
  Faults faults_;
};

// Groups are written as nested mappings; the fields of a group follow each other.
class FieldWriter {
 public:
  explicit FieldWriter(YAML::Emitter& out) : out_(out) { out_ << YAML::BeginMap; }

  template <class T>
  void operator()(const FieldInfo& field, const T& value) {
    const auto [group, key] = group_and_key(field.path);
    enter(group);
    out_ << YAML::Key << key << YAML::Value;
    if constexpr (std::is_enum_v<T>) {
      out_ << std::string(word_of(value));
    } else if constexpr (std::is_same_v<T, double>) {
      out_ << fmt::format("{}", value);
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      out_ << YAML::Flow << YAML::BeginSeq;
      for (const double each : value) out_ << fmt::format("{}", each);
      out_ << YAML::EndSeq;
    } else {
      out_ << value;
    }
  }
  void finish() {
    enter("");
    out_ << YAML::EndMap;
  }

 private:
  void enter(const std::string& group) {
    if (group == group_) return;
    if (!group_.empty()) out_ << YAML::EndMap;
    if (!group.empty()) out_ << YAML::Key << group << YAML::Value << YAML::BeginMap;
    group_ = group;
  }

  YAML::Emitter& out_;
  std::string group_;
};

// The section `train` of a file. Fields with a fault, which is added to `faults`, keep their values; a form of the
// update and a learning rate that the file does not name fit its optimiser.
void read_train(YamlMap& file, int batch, TrainSettings& train, Faults& faults) {
  const OptimiserName usual = train.optimiser.name;
  const auto read = [&](TrainSettings& settings, std::set<std::string> left_out) {
    FieldReader reader(file.map("train"), std::move(left_out));
    visit_train_fields(settings, reader);
    OptimiserSettings& optimiser = settings.optimiser;
    if (!has_fused_form(optimiser.name) && !reader.has("optimiser.form") && optimiser.form == UpdateForm::kFused)
      optimiser.form = UpdateForm::kForeach;
    if (optimiser.name != usual && !reader.has("learning_rate"))
      settings.learning_rate = default_rate(optimiser.name, batch);
    return reader;
  };
  TrainSettings found = train;
  faults.collect([&] { read(found, {}).finish(); });
  faults.collect([&] { check_node(file, [&] { check_settings(found); }); });
  std::set<std::string> out_of_range;
  for (const FieldFault& fault : faults_of(found)) out_of_range.insert(fault.field.path);
  faults.collect([&] { read(train, std::move(out_of_range)); });
}

void read_host(YamlMap& file, HostSettings& host, Faults& faults) {
  faults.collect([&] {
    FieldReader reader(file.map("host"));
    visit_host_fields(host, reader);
    reader.finish();
  });
}

// The values of all training settings, in the order of visit_train_fields().
std::vector<std::string> texts_of(const TrainSettings& train) {
  std::vector<std::string> texts;
  visit_train_fields(train, [&]<class T>(const FieldInfo&, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      texts.emplace_back(word_of(value));
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      texts.push_back(fmt::format("{}", fmt::join(value, ", ")));
    } else {
      texts.push_back(fmt::format("{}", value));
    }
  });
  return texts;
}

// Keys without effect have the default or the value of a recipe in files that the program writes; these are accepted.
std::vector<UnusedKey> unused_keys(const YamlMap& file, const TrainSettings& train) {
  std::vector<std::vector<std::string>> written{texts_of({})};
  for (const Recipe& recipe : recipes()) written.push_back(texts_of(settings_of(recipe).train));
  const std::vector<std::string> found = texts_of(train);
  std::vector<UnusedKey> unused;
  std::size_t i = 0;
  visit_train_fields(train, [&](const FieldInfo& field, const auto&) {
    const std::size_t at = i++;
    if (std::string_view(field.path) == "whitening_epochs") return;  // `tune --model` keeps it for another network
    if (std::ranges::any_of(written, [&](const auto& texts) { return texts[at] == found[at]; })) return;
    const std::string why = why_without_effect(field.path, train);
    if (!why.empty()) unused.push_back({field.path, file.location(std::string("train.") + field.path) + ": " + why});
  });
  return unused;
}

void write_train(YAML::Emitter& out, const TrainSettings& train) {
  FieldWriter writer(out);
  visit_train_fields(train, writer);
  writer.finish();
}

void write_host(YAML::Emitter& out, const HostSettings& host) {
  FieldWriter writer(out);
  visit_host_fields(host, writer);
  writer.finish();
}

}  // namespace

std::string to_yaml(const Settings& settings, const std::string& comment) {
  YAML::Emitter out;
  if (!comment.empty()) out << YAML::Comment(comment);
  out << YAML::BeginMap << YAML::Key << "unstarve" << YAML::Value << kSettingsVersion;
  if (!settings.recipe.empty()) out << YAML::Key << "recipe" << YAML::Value << settings.recipe;
  out << YAML::Key << "pipeline" << YAML::Value;
  write_yaml(out, settings.pipeline);
  out << YAML::Key << "train" << YAML::Value;
  write_train(out, settings.train);
  out << YAML::Key << "host" << YAML::Value;
  write_host(out, settings.host);
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

namespace {

// Nodes with a fault, which is added to `faults`, have their defaults.
Settings read_settings(YamlMap& map, const std::string& recipe, Faults& faults) {
  check_settings_version(map);
  std::string named;
  faults.collect([&] {
    map.get("recipe", named);
    if (!named.empty() && recipe_named(named) == nullptr)
      map.fail("recipe", fmt::format("found \"{}\"; expected one of {}", named, recipe_names()));
  });
  if (!recipe.empty()) named = recipe;
  const Recipe* const begin = recipe_named(named);
  Settings settings = begin != nullptr ? settings_of(*begin) : Settings();
  if (begin != nullptr) {
    int size = begin->image_size;
    faults.collect([&] { map.map("train").get("image_size", size); });
    if (size >= kLeastSide && size <= kLargestSide) set_image_size(*begin, size, settings);
  }
  const PipelineSpec defaults = settings.pipeline;
  const YamlMap pipeline = map.map("pipeline");
  Faults of_pipeline;
  settings.pipeline = read_pipeline_yaml(pipeline, of_pipeline, settings.pipeline);
  of_pipeline.collect([&] { check_node(pipeline, [&] { check_spec(settings.pipeline); }); });
  if (of_pipeline.any()) settings.pipeline = defaults;
  faults.collect([&] { of_pipeline.throw_if_any(); });
  read_train(map, settings.pipeline.batch.size, settings.train, faults);
  read_host(map, settings.host, faults);
  faults.collect([&] { map.finish(); });
  faults.collect([&] {
    const std::string& requested = settings.pipeline.device.name;
    if (!requested.empty() && !same_device(requested, settings.train.device))
      throw Error(ErrorKind::kInput, fmt::format("{}: {}; expected {} as in train.device, or no value",
                                                 pipeline.location("device.name"), requested, settings.train.device));
  });
  return settings;
}

// The samples that the pipeline selects, counted up to `most` per source: filters then read no more records.
std::uint64_t selected_samples(PipelineSpec pipeline, const Dataset& dataset, std::uint64_t most) {
  const auto limit = [most](SourceSpec& source) { source.take = std::min(source.take.value_or(most), most); };
  limit(pipeline.source);
  std::ranges::for_each(pipeline.mix, limit);
  return samples_of_sources(pipeline, dataset)->size();
}

}  // namespace

Settings settings_from_yaml(const std::string& text, const std::string& name, const std::string& recipe) {
  YamlMap map = YamlMap::parse(text, name);
  Faults faults;
  Settings settings = read_settings(map, recipe, faults);
  faults.throw_if_any();
  return settings;
}

SettingsFile read_settings_file(const std::filesystem::path& path, const std::string& recipe, Faults& faults) {
  YamlMap map = YamlMap::parse(read_text_file(path), path.string());
  SettingsFile file{read_settings(map, recipe, faults), {}};
  file.has_rate = map.is_map("train") && map.map("train").has("learning_rate");
  if (!faults.any()) {
    file.unused = unused_keys(map, file.settings.train);
    return file;
  }
  // Without faults, the start of the process reports it.
  const std::string missing = missing_allocator(file.settings.host.allocator, read_host_facts());
  if (!missing.empty()) faults.collect([&] { map.map("host").fail("allocator", missing); });
  if (!missing.empty()) file.settings.host.allocator = HeapAllocator::kSystem;
  return file;
}

Settings load_settings(const std::filesystem::path& path) {
  return settings_from_yaml(read_text_file(path), path.string());
}

TrainSettings read_train_settings(const std::filesystem::path& path, const TrainSettings& defaults, int batch,
                                  Faults& faults) {
  YamlMap map = YamlMap::parse(read_text_file(path), path.string());
  TrainSettings train = defaults;
  read_train(map, batch, train, faults);
  return train;
}

std::unique_ptr<CpuSplit> make_cpu_split(const Settings& settings) {
  if (settings.host.affinity == Affinity::kNone || settings.train.device != "cpu") return nullptr;
  const int operators = settings.train.operator_threads;
  return std::make_unique<CpuSplit>(operators > 0 ? operators : static_cast<int>(cpus_of_thread().size()) - 1);
}

Size first_image_size(const Dataset& dataset, std::int64_t max_pixels) {
  ImageSizes sizes(dataset, max_pixels);
  std::string reason = "no image field";
  for (std::uint64_t id = 0; id < std::min<std::uint64_t>(dataset.size(), 100); ++id) {
    try {
      return sizes.read(id);
    } catch (const Error& error) {
      reason = dataset.location(id) + ": " + error.what();
    }
  }
  throw Error(ErrorKind::kInput, "no readable sample: " + reason);
}

Size largest_image_size(const Dataset& dataset, std::int64_t max_pixels) {
  constexpr std::uint64_t kOthers = 15;
  Size largest = first_image_size(dataset, max_pixels);
  ImageSizes sizes(dataset, max_pixels);
  const std::uint64_t others = std::min(kOthers, dataset.size() - 1);
  for (std::uint64_t i = 1; i <= others; ++i) {
    try {
      const Size size = sizes.read(i * (dataset.size() - 1) / others);
      largest = {std::max(largest.width, size.width), std::max(largest.height, size.height)};
    } catch (const Error&) {
      continue;  // the error policy applies when the sample is loaded
    }
  }
  return largest;
}

std::string default_model(int image_size) { return image_size <= kThumbnailSide ? "cifar_net" : "resnet18"; }

Settings default_settings(const SourceSpec& source, const Dataset& dataset, const TrainChoice& choice) {
  const Size size = largest_image_size(dataset, kMaxPixels);
  const int side = std::max(size.width, size.height);
  const bool thumbnails = side <= kThumbnailSide;
  const Recipe* const recipe = choice.recipe.empty() ? nullptr : &find_recipe(choice.recipe);
  const int photograph_side = recipe != nullptr ? recipe->image_size : kPhotographSide;
  Settings settings;
  TrainSettings& train = settings.train;
  train.model = default_model(side);
  train.classes = std::max(2, static_cast<int>(dataset.classes().size()));
  train.image_size = choice.image_size > 0 ? choice.image_size : thumbnails ? side : photograph_side;
  train.device = choice.device.starts_with("emulated:") ? "cpu" : choice.device;
  train.channels_last = true;
  train.optimiser.form = UpdateForm::kFused;
  // Without libtorch nothing trains; for a missing device the trainer reports the error. For the CPU this loads
  // nothing: commands that do not train call it too.
  if (trainer_in_build() && (train.device == "cpu" || libtorch_facts().cuda) &&
      precision_supported(train.device, Precision::kBfloat16).supported)
    train.precision = Precision::kBfloat16;
  PipelineSpec& pipeline = settings.pipeline;
  pipeline.source = {source.path, source.split, source.labels, source.index};
  const Augmentation standard = recipe != nullptr ? recipe->augmentation : Augmentation::kStandard;
  pipeline.operations = training_operations(train.image_size, size, choice.augmentation.value_or(standard));
  pipeline.output = output_for(side);
  pipeline.batch.size = kRateBatch;
  train.learning_rate = default_rate(train.optimiser.name);
  train.label_smoothing = thumbnails ? 0.1 : 0;
  int batch = starting_batch(choice.device, train.image_size);
  if (recipe != nullptr) {
    apply_recipe(*recipe, settings);
    scale_image_sizes(*recipe, settings.train);
    batch = recipe->batch;
  }
  if (!choice.model.empty()) train.model = choice.model;
  // Fewer than a batch: one full batch.
  const std::uint64_t selected = choice.samples > 0 ? choice.samples : dataset.size();
  const std::uint64_t samples = std::max<std::uint64_t>(1, selected / static_cast<std::uint64_t>(choice.ranks));
  set_batch(settings, static_cast<int>(std::min(samples, static_cast<std::uint64_t>(batch))));
  return settings;
}

void fit_recipe_to_data(const std::filesystem::path& path, const Dataset& dataset, int ranks, Settings& settings) {
  YamlMap file = YamlMap::parse(read_text_file(path), path.string());
  TrainChoice choice;
  choice.recipe = settings.recipe;
  choice.ranks = ranks;
  if (file.is_map("train") && file.map("train").has("image_size")) choice.image_size = settings.train.image_size;
  PipelineSpec& pipeline = settings.pipeline;
  const auto most = static_cast<std::uint64_t>(find_recipe(choice.recipe).batch) * static_cast<std::uint64_t>(ranks);
  choice.samples = selected_samples(pipeline, dataset, most);
  Faults faults;
  PipelineSpec fitting =
      read_pipeline_yaml(file.map("pipeline"), faults, default_settings(pipeline.source, dataset, choice).pipeline);
  faults.throw_if_any();
  fitting.source = std::move(pipeline.source);
  fitting.mix = std::move(pipeline.mix);
  pipeline = std::move(fitting);
}

StoreFormat output_for(int side) {
  return {ElementType::kUint8, Layout::kNhwc, side <= kThumbnailSide ? kCifar10Normalisation : kImagenetNormalisation};
}

void set_device(Settings& settings, const std::string& device) {
  if (!device.starts_with("emulated:")) settings.train.device = device;
  DeviceSpec& spec = settings.pipeline.device;
  if (same_device(spec.name, device)) return;
  if (spec.operations != OperationsOn::kHost)
    emit_notice(
        fmt::format("device.operations: device{}: ignored, because it is for {} and the device is {}",
                    spec.decode == DecodeOn::kHost ? "" : fmt::format(", device.decode: {}", to_string(spec.decode)),
                    spec.name, device));
  spec = {};
}

void notify_done_on_host(const PipelineSpec& pipeline) {
  const DeviceSpec& device = pipeline.device;
  if (device.operations == OperationsOn::kHost) return;
  emit_notice(
      fmt::format("device.operations: device{}: runs on the host here, {}; to_torch() of the Python package "
                  "runs it on the device",
                  device.decode == DecodeOn::kHost ? "" : fmt::format(", device.decode: {}", to_string(device.decode)),
                  device.decode == DecodeOn::kHost ? "with bit-equal results" : "with the host's decoder"));
}

ScalingRule scaling_rule(OptimiserName name) noexcept {
  const bool adaptive = name == OptimiserName::kAdamw || name == OptimiserName::kLamb;
  return adaptive ? ScalingRule::kSquareRoot : ScalingRule::kLinear;
}

double scaled_rate(double rate, int batch, int new_batch, ScalingRule rule) {
  const double factor = static_cast<double>(new_batch) / batch;
  return rate * (rule == ScalingRule::kLinear ? factor : std::sqrt(factor));
}

double default_rate(OptimiserName name, int batch) {
  return scaled_rate(default_rate(name), kRateBatch, batch, scaling_rule(name));
}

void set_batch(Settings& settings, int batch) {
  TrainSettings& train = settings.train;
  train.learning_rate =
      scaled_rate(train.learning_rate, settings.pipeline.batch.size, batch, scaling_rule(train.optimiser.name));
  settings.pipeline.batch.size = batch;
}

}  // namespace unstarve
