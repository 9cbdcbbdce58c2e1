#pragma once
// Shared by the commands: options, settings from a file, a spec or the data, and printed results.
//
// Threads: one. Failure: Error.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../command.h"
#include "outputs.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/training/configuration_faults.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve::cli {

inline Option json_option() { return {"--json", "", "", "print one JSON object instead of text"}; }
inline Option data_option(bool required = true) {
  return {"DATA",
          "",
          "",
          "a folder, shards ('train-{000..007}.tar'), a URL, synthetic images "
          "(synthetic:classes=10,images=2000,size=32,seed=1), "
          "or a spec (*.yaml) that names one of them",
          required,
          Completes::kPath};
}
inline Option split_option() { return {"--split", "NAME", "", "split of the data: train, test or val"}; }
inline Option model_option() {
  return {"--model",
          "NAME",
          "cifar_net for images up to 40 px, else resnet18",
          "network to train; mobilenet_v2_0.5 has half the channels of mobilenet_v2",
          false,
          Completes::kModel};
}
inline Option device_option() {
  return {"--device",
          "NAME",
          "device of the settings, else cpu",
          "cpu, cuda, cuda:N, or emulated:<accelerator>-<workload>",
          false,
          Completes::kDevice};
}
inline Option training_device_option() {
  return {"--device",          "NAME",    "device of the settings, else cpu", "cpu, cuda or cuda:N", false,
          Completes::kNothing, "cpu cuda"};
}
inline Option seed_option() { return {"--seed", "N", "0", "seed of weights, order and augmentation"}; }
inline Option weights_option() {
  return {"--weights",
          "PATH",
          "",
          "start from the weights of a safetensors file, or of the newest checkpoint of a folder, possibly of another "
          "number of classes",
          false,
          Completes::kPath};
}
inline Option report_option() {
  return {"--report", "FILE", "", "write the report to this file (HTML)", false, Completes::kPath};
}
inline Option trace_option() {
  return {"--trace", "FILE", "", "write Chrome JSON trace events for Perfetto", false, Completes::kPath};
}
inline Option tensorboard_option() {
  return {"--tensorboard", "FOLDER", "", "write scalars for TensorBoard", false, Completes::kPath};
}
inline Option image_size_option() {
  return {"--image-size", "PX", "size of the data up to 40 px, else 224",
          "side length of the training images, in pixels"};
}
inline Option augmentation_option() {
  return {"--augmentation",
          "NAME",
          "from the recipe, else standard",
          "random changes of the training images: standard, or alternating (each image is mirrored in every other "
          "epoch; images up to 40 px are also shifted by up to 2 pixels, with reflected borders)",
          false,
          Completes::kNothing,
          "standard alternating"};
}
inline Option cache_option() {
  return {"--cache",
          "WHAT",
          "nothing",
          "what to cache: nothing, encoded records, pixels, or auto (the fastest of these in a short measurement)",
          false,
          Completes::kNothing,
          "nothing encoded pixels auto"};
}
inline Option cache_folder_option() {
  return {"--cache-folder", "DIR", "in memory", "cache pixels in a file in this folder, shared by processes", false,
          Completes::kPath};
}
inline Option read_ahead_option() {
  return {"--read-ahead", "N", "auto", "number of records read before the worker threads need them"};
}
inline Option order_option() {
  return {"--order",      "WHAT",
          "exact",        "order of delivery: exact, or relaxed (ready samples bypass stragglers)",
          false,          Completes::kNothing,
          "exact relaxed"};
}
inline Option memory_limit_option() {
  return {"--memory-limit", "SIZE", "none", "memory limit of the loader, including batches and caches: 500MB, 2GiB"};
}
inline Option passes_option() {
  return {"--passes", "LIST", "from the settings",
          "switch passes on or off, by the names in explain --verbose: scan_index=off,cache=off"};
}
inline Option cache_limit_option() { return {"--cache-mb", "N", "1024", "size limit of the cache, in 10^6 bytes"}; }
inline Option config_option() {
  return {"--config", "FILE",
          "",         "settings file (see unstarve tune --out); DATA, if given, replaces its source",
          false,      Completes::kPath};
}

// The settings that a command runs with: those of --config or of a spec given as DATA (not both), or defaults derived
// from the data. Options of the command line override them. Throws Error.
[[nodiscard]] Settings settings_from(const Arguments& arguments);

// The host settings of --config or of a settings file given as DATA, with those of the command line; opens no data.
// Throws Error.
[[nodiscard]] HostSettings host_settings_from(const Arguments& arguments);

// The options that settings_from() reads, with `more` options of the command inserted after those of the data.
[[nodiscard]] std::vector<Option> settings_options(const std::vector<Option>& more = {});

// The options of a command that trains a network on a device, for trainer_settings_from(): settings_options() without
// emulated accelerators, and train_flags() without `left_out`.
[[nodiscard]] std::vector<Option> trainer_options(const std::vector<Option>& more,
                                                  std::span<const std::string_view> left_out);
// The settings of such a command. Adds all faults to `faults`: what cannot be read has its default, and the pipeline
// has no source if the data cannot be opened. An emulated accelerator, which cannot train, is a fault, and so is a flag
// or key without effect.
[[nodiscard]] Settings trainer_settings_from(const Arguments& arguments, ConfigurationFaults& faults);
// Throws Error(kArgument) if a launcher has started several processes, for a command that is not distributed.
void require_one_process(const std::string& command);

// The pipeline of option or argument `name`: a spec, or only a source, with the split of option `split`. Has no source
// if the option is not given. Throws Error.
[[nodiscard]] PipelineSpec spec_of(const Arguments& arguments, const std::string& name, const std::string& split);
// The pipeline of DATA and --split.
[[nodiscard]] inline PipelineSpec spec_from(const Arguments& arguments) {
  return spec_of(arguments, "DATA", "--split");
}

// Throws Error(kArgument) if `data` is a spec, for a command that accepts only data.
void reject_spec(const std::string& command, const std::string& data);

// Opens a source. If that fails for a file that looks like a spec, the error explains why it is not one. Throws Error.
[[nodiscard]] std::shared_ptr<const Dataset> open_source(const SourceSpec& source);
// The same for one or several sources.
[[nodiscard]] std::shared_ptr<const Dataset> open_data(const PipelineSpec& spec);

// --device, or the device of the settings. Throws Error(kArgument).
[[nodiscard]] std::string device_from(const Arguments& arguments, const Settings& settings);

// print_output() of a result.
void print_result(const std::string& text);
// The same for the text of a result, or its JSON with --json.
template <class Result, class... More>
void print_result(const Arguments& arguments, const Result& result, const More&... more) {
  print_result(arguments.has("--json") ? to_json(result, more...) + "\n" : to_text(result, more...));
}

}  // namespace unstarve::cli
