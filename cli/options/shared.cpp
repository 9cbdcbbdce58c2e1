#include "shared.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string_view>
#include <type_traits>

#include "train_flags.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/common/chrome_trace.h"
#include "unstarve/jobs/settings/recipes.h"
#include "unstarve/jobs/settings/settings_file.h"
#include "unstarve/jobs/settings/target.h"
#include "unstarve/jobs/tensorboard/event_file.h"
#include "unstarve/jobs/training/configuration_faults.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/spec/spec_document.h"
#include "unstarve/ranks/ranks.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/open.h"

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

// The settings of a file; `kind` is the kind of spec given as DATA, kNone for a file of --config.
Settings settings_from_file(const std::string& file, SpecKind kind, const Arguments& arguments) {
  if (arguments.has("--image-size"))
    throw Error(ErrorKind::kArgument,
                "--image-size: not applicable, the operations of " + file + " determine the size. Change it there.");
  if (arguments.has("--augmentation"))
    throw Error(ErrorKind::kArgument,
                "--augmentation: not applicable, " + file + " lists the operations. Change them there.");
  if (detect_spec(file).kind == SpecKind::kPipeline) {
    PipelineSpec pipeline = load_pipeline(file);
    if (kind == SpecKind::kNone && arguments.has("DATA")) {
      pipeline.source = {arguments.text("DATA"), ""};
      pipeline.mix.clear();
    }
    pipeline.source.split = arguments.text("--split", pipeline.source.split);
    const auto data = open_data(pipeline);
    const std::string device = arguments.text("--device", pipeline.device.name.empty() ? "cpu" : pipeline.device.name);
    Settings settings = settings_for(pipeline, *data, arguments.text("--model"), device, arguments.text("--recipe"));
    set_device(settings, device);
    // As for data without a spec: an emulated accelerator accepts any element type.
    if (parse_target(device).emulated() && !has_output(file))
      settings.pipeline.output = output_for(settings.train.image_size);
    return settings;
  }
  Settings settings = load_settings(file, arguments.text("--recipe"));
  SourceSpec& source = settings.pipeline.source;
  if (kind == SpecKind::kNone && arguments.has("DATA")) {
    source = {arguments.text("DATA"), ""};
    settings.pipeline.mix.clear();
  }
  source.split = arguments.text("--split", source.split);
  require_source(settings.pipeline);
  // What the file does not set is as without a file.
  const auto data = open_data(settings.pipeline);
  const std::string device = arguments.text("--device", settings.train.device);
  settings.train = load_train_settings(
      file, settings_for(settings.pipeline, *data, arguments.text("--model"), device, settings.recipe).train);
  settings.train.model = arguments.text("--model", settings.train.model);
  if (arguments.has("--device")) set_device(settings, arguments.text("--device"));
  return settings;
}

Settings settings_from_data(const Arguments& arguments) {
  if (!arguments.has("DATA"))
    throw Error(ErrorKind::kArgument, "DATA: not given; expected a path, or a settings file with --config");
  const SourceSpec source{arguments.text("DATA"), arguments.text("--split")};
  TrainChoice choice{arguments.text("--model"), arguments.text("--device", "cpu"),
                     static_cast<int>(arguments.integer("--image-size", 0, 8, 4096))};
  if (arguments.has("--augmentation")) choice.augmentation = augmentation_from_string(arguments.text("--augmentation"));
  choice.recipe = arguments.text("--recipe");
  return default_settings(source, *open_source(source), choice);
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

namespace {

using ReadSettings = std::optional<Settings>(const Arguments&, ConfigurationFaults&);

// Throws all faults that `read` collects.
Settings without_faults(const Arguments& arguments, ReadSettings& read) {
  ConfigurationFaults faults;
  const std::optional<Settings> settings = read(arguments, faults);
  faults.throw_if_any();
  return settings.value();
}

}  // namespace

Settings settings_from(const Arguments& arguments) { return without_faults(arguments, settings_from); }

std::optional<Settings> settings_from(const Arguments& arguments, ConfigurationFaults& faults) {
  std::optional<Settings> readable;
  faults.collect([&] {
    // Before opening the data.
    if (arguments.has("--device")) (void)parse_target(arguments.text("--device"));
    if (arguments.has("--recipe")) (void)find_recipe(arguments.text("--recipe"));
    const std::string data = arguments.text("DATA"), config = arguments.text("--config");
    const SpecKind kind = detect_spec(data).kind;
    if (kind != SpecKind::kNone && arguments.has("--config"))
      throw Error(ErrorKind::kArgument,
                  "--config " + config + ": DATA is the spec " + data + ", which has settings too. Pass one of them.");
    readable = kind != SpecKind::kNone     ? settings_from_file(data, kind, arguments)
               : arguments.has("--config") ? settings_from_file(config, kind, arguments)
                                           : settings_from_data(arguments);
  });
  Settings settings = readable.value_or(Settings());
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
  if (!readable) return std::nullopt;
  return settings;
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

Settings trainer_settings_from(const Arguments& arguments) { return without_faults(arguments, trainer_settings_from); }

std::optional<Settings> trainer_settings_from(const Arguments& arguments, ConfigurationFaults& faults) {
  faults.collect([&] { reject_emulated(arguments); });
  const std::optional<Settings> readable = settings_from(arguments, faults);
  Settings settings = readable.value_or(Settings());
  TrainSettings& train = settings.train;
  faults.collect([&] { apply_train_flags(arguments, train); });
  faults.collect([&] { apply_host_flags(arguments, settings.host); });
  faults.collect([&] {
    train.seed =
        static_cast<std::uint64_t>(arguments.integer("--seed", static_cast<long long>(train.seed), 0, 1LL << 62));
  });
  if (arguments.has("--seed")) settings.pipeline.order.seed = train.seed;
  if (!readable) return std::nullopt;
  return settings;
}

void reject_emulated(const Arguments& arguments) {
  if (arguments.text("--device").starts_with("emulated:"))
    throw Error(ErrorKind::kArgument,
                "--device: found an emulated accelerator, which cannot train; expected cpu, cuda or cuda:N");
}

void require_one_process(const std::string& command) {
  if (launcher_of_environment() != Launcher::kNone)
    throw Error(ErrorKind::kArgument, command +
                                          ": found several processes of a launcher; expected one process. Start it "
                                          "without torchrun, mpirun or srun");
}

namespace {

// --out may be the file from which a run continues, or settings that are tuned again; export checks its MODEL.
void check_no_input(const Arguments& arguments, const std::string& option, const std::filesystem::path& file) {
  std::vector<std::string> inputs = arguments.rest();
  for (const char* const input : {"DATA", "BEFORE", "AFTER", "--weights", "--data", "--val"})
    if (arguments.has(input)) inputs.push_back(arguments.text(input));
  if (option != "--out") {
    for (const char* const input : {"MODEL", "--resume", "--config"})
      if (arguments.has(input)) inputs.push_back(arguments.text(input));
  } else {
    std::erase_if(inputs, [](const std::string& input) { return std::filesystem::path(input).extension() == ".yaml"; });
  }
  for (const std::string& input : inputs) {
    // A name before the path, as in "net=w.safetensors", and the options of a dataset, as in "d.parquet#label=x".
    for (const std::string& path : {input, input.substr(input.find('=') + 1), input.substr(0, input.find('#'))}) {
      std::error_code none;
      if (std::filesystem::equivalent(file, path, none))
        throw Error(ErrorKind::kArgument, fmt::format("{}: found {}, which this command reads; expected another file",
                                                      option, file.string()));
    }
  }
}

}  // namespace

void check_outputs(const Arguments& arguments, std::initializer_list<const char*> options) {
  for (const char* const option : options) {
    const std::filesystem::path file = arguments.text(option);
    const std::filesystem::path folder = file.parent_path();
    if (!folder.empty() && ::access(folder.c_str(), W_OK) != 0) throw io_error("write", file.string(), errno);
    std::error_code none;
    if (std::filesystem::is_directory(file, none)) throw io_error("write", file.string(), EISDIR);
    if (!file.empty()) check_no_input(arguments, option, file);
  }
}

void check_output_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code none;
  std::filesystem::path existing = std::filesystem::absolute(folder).lexically_normal();
  while (!std::filesystem::exists(existing, none) && existing.has_relative_path()) existing = existing.parent_path();
  if (!std::filesystem::is_directory(existing, none)) throw io_error("write to folder", folder.string(), ENOTDIR);
  if (::access(existing.c_str(), W_OK | X_OK) != 0) throw io_error("write to folder", folder.string(), errno);
}

void check_measurement_files(const Arguments& arguments) {
  check_outputs(arguments, {"--report", "--trace"});
  check_output_folder(arguments.text("--tensorboard"));
}

void write_measurement_files(const Arguments& arguments, const Recording& recording, Report report) {
  if (arguments.has("--trace")) write_file_atomically(arguments.text("--trace"), chrome_trace(recording));
  if (arguments.has("--tensorboard")) write_recording_events(arguments.text("--tensorboard"), recording);
  if (arguments.has("--report")) write_report_file(arguments, std::move(report));
}

void write_report_file(const Arguments& arguments, Report report) {
  if (arguments.has("--trace")) add_trace_link(report, arguments.text("--report"), arguments.text("--trace"));
  write_report(report, arguments.text("--report"));
}

void print_result(const std::string& text) { print_output(text); }

}  // namespace unstarve::cli
