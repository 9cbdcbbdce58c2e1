#pragma once
// All settings of a run, as plain data and as the YAML file that `tune` writes and `train` and `bench` read.
//
//   unstarve: 1            # version of this schema
//   recipe: cifar-speed    # optional: a set of settings that other keys override, see recipes.h
//   pipeline: {...}        # see pipeline/spec/spec_yaml.h
//   train: {...}           # see train/settings.h; the same names
//   host: {...}            # see jobs/host/host_settings.h; the same names
//
// train.device selects the device; pipeline.device.name must match it if given.
//
// Failure: Error(kInput) with file, key and line for unknown keys or versions and for values out of range.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/core/enum_words.h"
#include "unstarve/core/image.h"
#include "unstarve/jobs/host/host_settings.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/train/settings.h"

namespace unstarve {

class CpuSplit;
class Dataset;
class Faults;

struct Settings {
  PipelineSpec pipeline;
  TrainSettings train;
  HostSettings host;
  std::string recipe;  // that the settings began with; "": none
  friend bool operator==(const Settings&, const Settings&) = default;
};

// The file starts with `comment`.
[[nodiscard]] std::string to_yaml(const Settings& settings, const std::string& comment = "");
// `recipe`: replaces that of the file, unless it is empty.
[[nodiscard]] Settings settings_from_yaml(const std::string& text, const std::string& name,
                                          const std::string& recipe = "");
[[nodiscard]] Settings load_settings(const std::filesystem::path& path);

// A key of a settings file that has no effect with its other keys (train/settings_in_use.h), and the fault with file
// and line.
struct UnusedKey {
  std::string path;  // in the section `train`
  std::string fault;
};

struct SettingsFile {
  Settings settings;  // nodes with a fault have their defaults; of a pipeline with one, all nodes
  // Without those whose value is a default or that of a recipe, as in files that `tune` writes.
  std::vector<UnusedKey> unused;
  bool has_rate = false;  // the file has train.learning_rate
};

// A file for this machine: with other faults, a missing allocator is one too. Faults are added to `faults`; throws only
// if the file is no mapping of this version. `recipe`: as above.
[[nodiscard]] SettingsFile read_settings_file(const std::filesystem::path& path, const std::string& recipe,
                                              Faults& faults);

// The section `train` of a settings file. Keys that it does not name, or that have a fault, have the values of
// `defaults`; the form of the update and, for batches of this size, the learning rate then fit the optimiser.
[[nodiscard]] TrainSettings read_train_settings(const std::filesystem::path& path, const TrainSettings& defaults,
                                                int batch, Faults& faults);

// The split of CPUs that host.affinity requests for a network on the CPU; null: none. Without a number of operator
// threads, the loader has one CPU. Throws as CpuSplit.
[[nodiscard]] std::unique_ptr<CpuSplit> make_cpu_split(const Settings& settings);

// Size of the first readable image with at most `max_pixels`. Throws Error(kInput) if none of the first 100 records is
// such an image.
[[nodiscard]] Size first_image_size(const Dataset& dataset, std::int64_t max_pixels);
// The largest width and height among that image and 15 others spread over the data.
[[nodiscard]] Size largest_image_size(const Dataset& dataset, std::int64_t max_pixels);
// "cifar_net" for thumbnails, else "resnet18".
[[nodiscard]] std::string default_model(int image_size);

// Good settings without measurement: native image size for thumbnails (no image above 40 px), else 224; bfloat16 if the
// device supports it, channels last, fused optimiser, uint8 transfer, all cores, two prefetched batches; label
// smoothing 0.1 for thumbnails. A recipe replaces these and the batch size of 256. A batch has at most the samples of a
// rank. `device`: "cpu", "cuda[:N]" or "emulated:<name>".
struct TrainChoice {
  std::string model;  // "": that of the recipe, or default_model() of the data
  std::string device = "cpu";
  int image_size = 0;                          // 0: chosen for the data
  std::optional<Augmentation> augmentation{};  // none: that of the recipe, or standard
  std::string recipe{};                        // "": none
  int ranks = 1;                               // that share the data
  std::uint64_t samples = 0;                   // that the pipeline selects, or more than a batch; 0: all
};
[[nodiscard]] Settings default_settings(const SourceSpec& source, const Dataset& dataset,
                                        const TrainChoice& choice = {});

// For settings of a file with a recipe: what the section `pipeline` of the file does not name becomes that of
// default_settings() for the recipe and the samples that the pipeline selects. The source stays. `ranks`: as
// TrainChoice. Throws as choose_samples().
void fit_recipe_to_data(const std::filesystem::path& path, const Dataset& dataset, int ranks, Settings& settings);

// Sets the device: "cpu" or "cuda[:N]", which also trains, or "emulated:<name>". Resets pipeline.device if it names
// another device, with a notice if operations were assigned to that device.
void set_device(Settings& settings, const std::string& device);

// Emits a notice if pipeline.device assigns operations to a device: the program runs them on the host.
void notify_done_on_host(const PipelineSpec& pipeline);

// Of batches of images whose largest side is `side`: uint8, normalised on the device as CIFAR-10 or ImageNet.
[[nodiscard]] StoreFormat output_for(int side);

// How the learning rate follows the batch size.
enum class ScalingRule {
  kLinear,      // sgd, lars: Goyal et al., arXiv:1706.02677
  kSquareRoot,  // adamw, lamb: Malladi et al., arXiv:2205.10287; You et al., arXiv:1904.00962
};
template <>
inline constexpr std::array<std::string_view, 2> kWords<ScalingRule>{"linear", "square root"};
[[nodiscard]] ScalingRule scaling_rule(OptimiserName name) noexcept;
[[nodiscard]] double scaled_rate(double rate, int batch, int new_batch, ScalingRule rule);
// default_rate() of the optimiser for batches of this size.
[[nodiscard]] double default_rate(OptimiserName name, int batch);
// Sets the batch size and scales the learning rate by the rule of the optimiser.
void set_batch(Settings& settings, int batch);

}  // namespace unstarve
