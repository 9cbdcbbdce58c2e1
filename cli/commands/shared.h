#pragma once
// What several verbs have in common: options, settings from a file, a spec or the data, printing one JSON object.
//
// Threads: one. Failure: Error.

#include <memory>
#include <string>
#include <vector>

#include "../command.h"
#include "unstarve/jobs/settings/settings.h"

namespace unstarve::cli {

inline Option json_option() { return {"--json", "", "", "print one JSON object instead of text"}; }
inline Option data_option(bool required = true) {
  return {"DATA",
          "",
          "",
          "a folder, shards ('train-{000..007}.tar'), a URL, made-up images "
          "(synthetic:classes=10,images=2000,size=32,seed=1), "
          "or a spec (*.yaml) that names one of them",
          required,
          Completes::kPath};
}
inline Option split_option() { return {"--split", "NAME", "", "part of the data: train, test or val"}; }
inline Option model_option() {
  return {"--model", "NAME", "cifar_net up to 40 px, else resnet18", "network to train", false, Completes::kModel};
}
inline Option device_option() {
  return {"--device",
          "NAME",
          "cpu, or what the settings say",
          "cpu, cuda, cuda:N, or emulated:<accelerator>-<workload>",
          false,
          Completes::kDevice};
}
inline Option image_size_option() {
  return {"--image-size", "PX", "the data's own up to 40 px, else 224", "side of the training images"};
}
inline Option cache_option() {
  return {"--cache",
          "WHAT",
          "nothing",
          "keep records (encoded), pixels, or what pays by measurement (auto)",
          false,
          Completes::kNothing,
          "nothing encoded pixels auto"};
}
inline Option cache_folder_option() {
  return {"--cache-folder", "DIR", "", "keep pixels in a file there, shared by processes; else in memory", false,
          Completes::kPath};
}
inline Option read_ahead_option() {
  return {"--read-ahead", "N", "as the data reward it",
          "records that are read before the loader's threads ask for them, so many at once"};
}
inline Option order_option() {
  return {"--order",      "WHAT",
          "exact",        "exact, or relaxed: samples that are ready overtake those that take long",
          false,          Completes::kNothing,
          "exact relaxed"};
}
inline Option memory_limit_option() {
  return {"--memory-limit", "SIZE", "none",
          "what the loader may hold at most, batches and caches included: 500MB, 2GiB"};
}
inline Option passes_option() {
  return {"--passes", "LIST", "as the settings say",
          "switch optimisations by the names that explain lists: scan_index=off,cache=off"};
}
inline Option cache_limit_option() {
  return {"--cache-mb", "N", "1024", "most that the cache may hold, in units of 10^6 bytes"};
}
inline Option config_option() {
  return {"--config", "FILE",
          "",         "settings as unstarve tune writes them; DATA, if given, takes the place of theirs",
          false,      Completes::kPath};
}

// The settings that a verb runs with: of --config or of a spec in DATA's place (not of both), or defaults made from the
// data; options of the command line on top. Throws Error.
[[nodiscard]] Settings settings_from(const Arguments& arguments);

// The options that settings_from() reads, for verbs that take them all; `more` of the verb's own stand behind the
// data's.
[[nodiscard]] std::vector<Option> settings_options(const std::vector<Option>& more = {});

// The data that option or argument `name` gives, with the part that `split` names, or the whole spec in its place;
// names no data where it is not given. Throws Error.
[[nodiscard]] PipelineSpec spec_of(const Arguments& arguments, const std::string& name, const std::string& split);
// Of DATA and --split.
[[nodiscard]] inline PipelineSpec spec_from(const Arguments& arguments) {
  return spec_of(arguments, "DATA", "--split");
}

// Throws where `data` is a spec, for `verb`, which takes the data of it alone: what to give instead.
void refuse_spec(const std::string& verb, const std::string& data);

// Opens it; where that fails on a file that looks like a spec, the error says why it is none. Throws Error.
[[nodiscard]] std::shared_ptr<const Dataset> open_source(const SourceSpec& source);
// The same of one or several sources.
[[nodiscard]] std::shared_ptr<const Dataset> open_data(const PipelineSpec& spec);

// --device, else what the settings say. Throws Error(kArgument).
[[nodiscard]] std::string device_from(const Arguments& arguments, const Settings& settings);

// Prints text to standard output and checks that it went there (a full disk, a closed pipe). Throws Error(kIo).
void print_result(const std::string& text);

}  // namespace unstarve::cli
