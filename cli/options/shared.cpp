#include "shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../terminal.h"
#include "train_flags.h"
#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/jobs/settings/recipes.h"
#include "unstarve/jobs/settings/settings_file.h"
#include "unstarve/jobs/settings/target.h"
#include "unstarve/jobs/training/configuration_faults.h"
#include "unstarve/jobs/training/train_data.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/spec/faults.h"
#include "unstarve/pipeline/spec/spec_document.h"
#include "unstarve/ranks/ranks.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/open.h"
#include "unstarve/train/settings_in_use.h"

namespace unstarve::cli {
namespace {

CacheWhat cache_what_from_string(const std::string& name) {
  if (name == "nothing") return CacheWhat::kNothing;
  if (name == "encoded") return CacheWhat::kEncoded;
  if (name == "pixels") return CacheWhat::kPixels;
  if (name == "auto") return CacheWhat::kAuto;
  throw Error(ErrorKind::kArgument, "--cache: found \"" + name + "\"; expected nothing, encoded, pixels or auto");
}

ExecutionOrder order_from_string(const std::string& name) {
  if (name == "exact") return ExecutionOrder::kExact;
  if (name == "relaxed") return ExecutionOrder::kRelaxed;
  throw Error(ErrorKind::kArgument, "--order: found \"" + name + "\"; expected exact or relaxed");
}

Augmentation augmentation_from_string(const std::string& name) {
  if (name == "standard") return Augmentation::kStandard;
  if (name == "alternating") return Augmentation::kAlternating;
  throw Error(ErrorKind::kArgument, "--augmentation: found \"" + name + "\"; expected standard or alternating");
}

// Applies "name=on,name=off" to the switches; the plan checks the names.
void switch_passes(const std::string& list, std::map<std::string, bool>& passes) {
  const auto fail = [](const std::string& found) {
    throw Error(ErrorKind::kArgument,
                "--passes: found \"" + found + "\"; expected names with on or off: scan_index=off,cache=off");
  };
  for (std::size_t begin = 0, end = 0; end < list.size(); begin = end + 1) {
    end = std::min(list.find(',', begin), list.size());
    const std::string entry = list.substr(begin, end - begin);
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals), value = equals < entry.size() ? entry.substr(equals + 1) : "";
    if (name.empty() || (value != "on" && value != "off")) fail(entry);
    passes[name] = value == "on";
  }
  if (list.empty()) fail(list);
}

// Settings as far as they can be read: what has a fault has its default, and the pipeline has no source if the data
// cannot be opened.
struct ReadSettings {
  Settings settings;
  bool file_has_faults = false;
  bool file_has_rate = false;     // train.learning_rate
  std::vector<UnusedKey> unused;  // keys of the file
};

// DATA, if `kind` says that it is no spec, replaces the source of a file; so does --split.
void replace_source(const Arguments& arguments, SpecKind kind, PipelineSpec& pipeline) {
  if (kind == SpecKind::kNone && arguments.has("DATA")) {
    pipeline.source = {arguments.text("DATA"), ""};
    pipeline.mix.clear();
  }
  pipeline.source.split = arguments.text("--split", pipeline.source.split);
}

// The settings of settings_for(). Nothing if the data cannot be used; the pipeline then has no source.
std::optional<Settings> settings_for_data(PipelineSpec& pipeline, const Arguments& arguments, const std::string& device,
                                          const std::string& recipe, ConfigurationFaults& faults) {
  std::optional<Settings> settings;
  faults.collect(
      [&] { settings = settings_for(pipeline, *open_data(pipeline), arguments.text("--model"), device, recipe); });
  if (!settings) {
    pipeline.source = {};
    pipeline.mix.clear();
  }
  return settings;
}

void read_pipeline_file(const std::string& file, SpecKind kind, const Arguments& arguments, ConfigurationFaults& faults,
                        ReadSettings& read) {
  Settings& settings = read.settings;
  PipelineSpec& pipeline = settings.pipeline;
  read.file_has_faults = !faults.collect([&] { pipeline = load_pipeline(file); });
  if (read.file_has_faults) return;
  replace_source(arguments, kind, pipeline);
  const std::string device = arguments.text("--device", pipeline.device.name.empty() ? "cpu" : pipeline.device.name);
  if (auto found = settings_for_data(pipeline, arguments, device, arguments.text("--recipe"), faults))
    settings = std::move(*found);
  set_device(settings, device);
  // As for data without a spec: an emulated accelerator accepts any element type.
  if (parse_target(device).emulated() && !has_output(file)) pipeline.output = output_for(settings.train.image_size);
}

void read_settings_of_file(const std::string& file, SpecKind kind, const Arguments& arguments,
                           ConfigurationFaults& faults, ReadSettings& read) {
  Settings& settings = read.settings;
  Faults of_file;
  const bool readable = faults.collect([&] {
    SettingsFile found = read_settings_file(file, arguments.text("--recipe"), of_file);
    settings = std::move(found.settings);
    read.unused = std::move(found.unused);
    read.file_has_rate = found.has_rate;
  });
  faults.collect([&] { of_file.throw_if_any(); });
  read.file_has_faults = !readable || of_file.any();
  if (!readable) return;
  PipelineSpec& pipeline = settings.pipeline;
  replace_source(arguments, kind, pipeline);
  const std::string device = arguments.text("--device", settings.train.device);
  if (has_source(pipeline) && !settings.recipe.empty() && !read.file_has_faults)
    (void)ConfigurationFaults().collect(  // data that cannot be opened is a fault below
        [&] { fit_recipe_to_data(file, *open_data(pipeline), world_of_environment(), settings); });
  if (has_source(pipeline)) {
    // What the file does not set is as without a file.
    if (const auto defaults = settings_for_data(pipeline, arguments, device, settings.recipe, faults)) {
      Faults of_train;
      settings.train = read_train_settings(file, defaults->train, pipeline.batch.size, of_train);
      faults.collect([&] { of_train.throw_if_any(); });
    }
  } else if (!read.file_has_faults) {  // otherwise a fault of the pipeline may be the reason
    faults.collect([&] { require_source(pipeline); });
  }
  settings.train.model = arguments.text("--model", settings.train.model);
  if (arguments.has("--device")) set_device(settings, device);
}

void read_settings_of_data(const Arguments& arguments, ConfigurationFaults& faults, ReadSettings& read) {
  TrainChoice choice{arguments.text("--model"), arguments.text("--device", "cpu")};
  choice.recipe = arguments.text("--recipe");
  choice.ranks = world_of_environment();
  faults.collect([&] { choice.image_size = static_cast<int>(arguments.integer("--image-size", 0, 8, 4096)); });
  faults.collect([&] {
    if (arguments.has("--augmentation"))
      choice.augmentation = augmentation_from_string(arguments.text("--augmentation"));
  });
  Settings& settings = read.settings;
  const bool opened = faults.collect([&] {
    if (!arguments.has("DATA"))
      throw Error(ErrorKind::kArgument, "DATA: not given; expected a path, or a settings file with --config");
    const SourceSpec source{arguments.text("DATA"), arguments.text("--split")};
    settings = default_settings(source, *open_source(source), choice);
  });
  if (opened) return;
  if (choice.image_size > 0) settings.train.image_size = choice.image_size;
  set_device(settings, choice.device);
}

// The settings with the options of data and loader; adds all faults.
ReadSettings read_settings(Arguments arguments, ConfigurationFaults& faults) {
  ReadSettings read;
  // Before opening the data.
  const auto check = [&](const char* option, auto&& accepts) {
    if (arguments.has(option) && !faults.collect([&] { accepts(arguments.text(option)); }))
      arguments = arguments.without(option);
  };
  check("--device", [](const std::string& name) { (void)parse_target(name); });
  check("--recipe", [&](const std::string& name) { read.settings = settings_of(find_recipe(name)); });
  read.settings.train.model = arguments.text("--model", read.settings.train.model);
  const std::string data = arguments.text("DATA"), config = arguments.text("--config");
  const SpecKind kind = detect_spec(data).kind;
  if (kind != SpecKind::kNone && arguments.has("--config"))
    faults.add({ErrorKind::kArgument,
                "--config " + config + ": DATA is the spec " + data + ", which has settings too. Pass one of them."});
  if (kind != SpecKind::kNone || arguments.has("--config")) {
    const std::string& file = kind != SpecKind::kNone ? data : config;
    if (arguments.has("--image-size"))
      faults.add({ErrorKind::kArgument,
                  "--image-size: not applicable, the operations of " + file + " determine the size. Change it there."});
    if (arguments.has("--augmentation"))
      faults.add({ErrorKind::kArgument,
                  "--augmentation: not applicable, " + file + " lists the operations. Change them there."});
    if (detect_spec(file).kind == SpecKind::kPipeline)
      read_pipeline_file(file, kind, arguments, faults, read);
    else
      read_settings_of_file(file, kind, arguments, faults, read);
  } else {
    read_settings_of_data(arguments, faults, read);
  }
  Settings& settings = read.settings;
  const auto integer = [&](auto& value, const char* option, long long least, long long most) {
    faults.collect([&] {
      value = static_cast<std::remove_reference_t<decltype(value)>>(
          arguments.integer(option, static_cast<long long>(value), least, most));
    });
  };
  const auto word = [&](const char* option, auto&& use) {
    if (arguments.has(option)) faults.collect([&] { use(arguments.text(option)); });
  };
  auto& execution = settings.pipeline.execution;
  CacheSpec& cache = settings.pipeline.cache;
  faults.collect([&] {
    if (arguments.has("--batch")) set_batch(settings, static_cast<int>(arguments.integer("--batch", 0, 1, 1 << 20)));
  });
  integer(execution.threads, "--threads", 1, 1024);
  integer(execution.prefetch, "--prefetch", 0, 1024);
  integer(execution.read_ahead, "--read-ahead", 0, 1024);
  word("--order", [&](const std::string& text) { execution.order = order_from_string(text); });
  word("--passes", [&](const std::string& text) { switch_passes(text, settings.pipeline.passes); });
  faults.collect([&] { execution.memory_limit_mb = arguments.megabytes("--memory-limit", execution.memory_limit_mb); });
  word("--cache", [&](const std::string& text) { cache.what = cache_what_from_string(text); });
  cache.folder = arguments.text("--cache-folder", cache.folder);
  integer(cache.limit_mb, "--cache-mb", 1, 1LL << 40);
  for (const char* const option : {"--cache-folder", "--cache-mb"})
    if (arguments.has(option) && !arguments.has("--cache") && cache.what == CacheWhat::kNothing &&
        !read.file_has_faults)
      faults.add({ErrorKind::kArgument, std::string(option) + ": no effect without --cache; expected both or neither"});
  return read;
}

// Throws Error(kArgument) for a device that cannot train.
void check_training_device(const std::string& name) {
  if (name.starts_with("emulated:"))
    throw Error(ErrorKind::kArgument,
                "--device: found an emulated accelerator, which cannot train; expected cpu, cuda or cuda:N");
  if (!is_device_name(name))
    throw Error(ErrorKind::kArgument, "--device: found \"" + name + "\"; expected cpu, cuda or cuda:N");
}

}  // namespace

PipelineSpec spec_of(const Arguments& arguments, const std::string& name, const std::string& split) {
  const std::string data = arguments.text(name);
  PipelineSpec spec;
  if (detect_spec(data).kind != SpecKind::kNone)
    spec = load_pipeline(data);
  else
    spec.source.path = data;
  spec.source.split = arguments.text(split, spec.source.split);
  if (!spec.mix.empty() && arguments.has(split))
    throw Error(ErrorKind::kArgument,
                split + ": " + data + " has several sources; expected the split of each source in the file");
  return spec;
}

void reject_spec(const std::string& command, const std::string& data) {
  if (detect_spec(data).kind == SpecKind::kNone) return;
  const PipelineSpec spec = load_pipeline(data);
  throw Error(ErrorKind::kArgument,
              fmt::format("{} {}: found a spec; expected data. {} copies all stored records and ignores filters and "
                          "operations. Pass {}",
                          command, data, command,
                          spec.mix.empty() ? "its source: " + shown_name(spec.source.path)
                                           : "its sources one by one: " + name_of_sources(spec)));
}

std::shared_ptr<const Dataset> open_source(const SourceSpec& source) {
  try {
    return open_dataset(source.path, source.split, source.labels);
  } catch (const Error& error) {
    const std::string reason = error.kind() == ErrorKind::kInput ? detect_spec(source.path).reason : "";
    if (reason.empty()) throw;
    throw Error(ErrorKind::kInput, reason + ", so it is not a spec; as data: " + error.what());
  }
}

std::shared_ptr<const Dataset> open_data(const PipelineSpec& spec) {
  return spec.mix.empty() && spec.source.yaml_location.text.empty() ? open_source(spec.source) : open_sources(spec);
}

std::string device_from(const Arguments& arguments, const Settings& settings) {
  return arguments.text("--device", settings.train.device);
}

Settings settings_from(const Arguments& arguments) {
  ConfigurationFaults faults;
  ReadSettings read = read_settings(arguments, faults);
  for (const UnusedKey& key : read.unused) faults.add({ErrorKind::kInput, key.fault});
  faults.throw_if_any();
  return std::move(read.settings);
}

HostSettings host_settings_from(const Arguments& arguments) {
  HostSettings host;
  for (const char* const name : {"DATA", "--config"})
    if (const std::string file = arguments.text(name); detect_spec(file).kind == SpecKind::kSettings)
      host = load_settings(file).host;
  apply_host_flags(arguments, host);
  return host;
}

std::vector<Option> settings_options(const std::vector<Option>& more) {
  std::vector<Option> options{data_option(false), split_option(),      model_option(),
                              device_option(),    image_size_option(), config_option()};
  options.insert(options.end(), more.begin(), more.end());
  for (const Option& option :
       {Option{"--batch", "N", "256 up to 40 px, else 32; for an emulated accelerator, its own", "samples per batch"},
        Option{"--threads", "N", "autotuned", "worker threads of the loader"},
        Option{"--prefetch", "N", "2 (autotuned unless --threads is set)", "number of prefetched batches"},
        read_ahead_option(), order_option(), memory_limit_option(), passes_option(), cache_option(),
        cache_folder_option(), cache_limit_option(), json_option()})
    options.push_back(option);
  return options;
}

std::vector<Option> trainer_options(const std::vector<Option>& more, std::span<const std::string_view> left_out) {
  std::vector<Option> options = settings_options(more);
  for (Option& option : options) {
    if (std::string_view(option.name) == "--device") option = training_device_option();
    if (std::string_view(option.name) == "--batch") option.fallback = "256 up to 40 px, else 32";
  }
  const std::vector<Option> flags = train_flags(left_out);
  options.insert(options.end() - 1, flags.begin(), flags.end());  // before --json
  const std::vector<Option> host = host_flags();
  options.insert(options.end() - 1, host.begin(), host.end());
  return options;
}

Settings trainer_settings_from(const Arguments& given, ConfigurationFaults& faults) {
  const bool can_train = faults.collect([&] {
    if (given.has("--device")) check_training_device(given.text("--device"));
  });
  const Arguments arguments = can_train ? given : given.without("--device");
  ReadSettings read = read_settings(arguments, faults);
  Settings& settings = read.settings;
  TrainSettings& train = settings.train;
  const OptimiserName usual = train.optimiser.name;
  const bool readable = faults.collect([&] { apply_train_flags(arguments, train); }) && !read.file_has_faults;
  if (train.optimiser.name != usual && !arguments.has("--learning-rate") && !read.file_has_rate)
    train.learning_rate = default_rate(train.optimiser.name, settings.pipeline.batch.size);
  faults.collect([&] { apply_host_flags(arguments, settings.host); });
  faults.collect([&] {
    train.seed =
        static_cast<std::uint64_t>(arguments.integer("--seed", static_cast<long long>(train.seed), 0, 1LL << 62));
  });
  if (arguments.has("--seed")) settings.pipeline.order.seed = train.seed;
  if (arguments.has("--qat")) train.qat.enabled = true;
  if (readable) check_flags_in_use(arguments, train, faults);
  for (const UnusedKey& key : read.unused)
    if (!why_without_effect(key.path, train).empty()) faults.add({ErrorKind::kInput, key.fault});
  return std::move(read.settings);
}

void require_one_process(const std::string& command) {
  if (launcher_of_environment() != Launcher::kNone)
    throw Error(ErrorKind::kArgument, command +
                                          ": found several processes of a launcher; expected one process. Start it "
                                          "without torchrun, mpirun or srun");
}

void print_result(const std::string& text) { print_output(text); }

}  // namespace unstarve::cli
