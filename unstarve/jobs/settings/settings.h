#pragma once
// Everything a run can be told, as plain data and as the YAML file that `tune` writes and `train` and `bench` take.
//
//   unstarve: 1            # version of this schema
//   pipeline: {...}        # see pipeline/spec/spec_yaml.h
//   train: {...}           # see train/settings.h; the same names
//
// train.device says where; pipeline.device.name, where it is given, the same.
//
// Failure: Error(kInput) with file, node and line; an unknown key or version is an error, and so is a value out of its
// range.

#include <cstdint>
#include <filesystem>
#include <string>

#include "unstarve/core/image.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/train/settings.h"

namespace unstarve {

struct Settings {
  PipelineSpec pipeline;
  TrainSettings train;
  friend bool operator==(const Settings&, const Settings&) = default;
};

// `comment` becomes the file's first lines.
[[nodiscard]] std::string to_yaml(const Settings& settings, const std::string& comment = "");
[[nodiscard]] Settings settings_from_yaml(const std::string& text, const std::string& name);
[[nodiscard]] Settings load_settings(const std::filesystem::path& path);

// Of the first image that can be read and has at most `max_pixels`. Throws Error(kInput) when none of the first hundred
// is one.
[[nodiscard]] Size first_image_size(const Dataset& dataset, std::int64_t max_pixels);
// cifar_net for images that are trained at the size of thumbnails, resnet18 otherwise.
[[nodiscard]] std::string default_model(int image_size);

// What one would choose by hand before any measurement: the data's own size for thumbnails, 224 otherwise; bfloat16
// where the device has its instructions, channels last, the fused optimiser, uint8 to the device, all cores, two
// batches ahead; label smoothing 0.1 for thumbnails. `model` "" chooses cifar_net for thumbnails and resnet18
// otherwise; `device` is "cpu", "cuda[:N]" or "emulated:<name>".
[[nodiscard]] Settings default_settings(const std::string& path, const std::string& split, const Dataset& dataset,
                                        const std::string& model, const std::string& device, int image_size = 0);

// Another device for the batches: "cpu" or "cuda[:N]", which trains then, or "emulated:<name>". What pipeline.device
// says of another one no longer counts, and where it leaves operations to it, that is told (notice.h).
void set_device(Settings& settings, const std::string& device);

// Tells (notice.h) what pipeline.device leaves to a device and the program's own loader does on the host.
void tell_done_on_host(const PipelineSpec& pipeline);

// Changes the batch size and, in proportion, the learning rate (Goyal et al., "Accurate, large minibatch SGD", 2017).
void set_batch(Settings& settings, int batch);

}  // namespace unstarve
