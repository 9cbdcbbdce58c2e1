#include "train_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <string>
#include <type_traits>

#include "unstarve/core/error.h"
#include "unstarve/jobs/training/configuration_faults.h"
#include "unstarve/train/settings_fields.h"
#include "unstarve/train/settings_in_use.h"

namespace unstarve::cli {
namespace {

// The text of a value, as it is given on the command line.
template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(word_of(value));
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    return fmt::format("{}", fmt::join(value, ","));
  } else {
    return fmt::format("{}", value);
  }
}

template <class T>
const char* placeholder() {
  if constexpr (std::is_enum_v<T>) return "NAME";
  if constexpr (std::is_same_v<T, std::string>) return "TEXT";
  if constexpr (std::is_same_v<T, bool>) return "BOOL";
  if constexpr (std::is_same_v<T, std::vector<double>>) return "LIST";
  return "N";
}

template <class T>
std::string choices_of() {
  if constexpr (std::is_enum_v<T>) return fmt::format("{}", fmt::join(words_of<T>(), " "));
  if constexpr (std::is_same_v<T, bool>) return "true false";
  return "";
}

[[noreturn]] void reject(const FieldInfo& field, const std::string& found, const std::string& expected) {
  throw Error(ErrorKind::kArgument, fmt::format("{}: found \"{}\"; expected {}", field.flag, found, expected));
}

struct FlagReader {
  const Arguments& arguments;
  ConfigurationFaults& faults;

  template <class T>
  void operator()(const FieldInfo& field, T& value) const {
    if (field.flag[0] != '\0' && arguments.has(field.flag)) faults.collect([&] { read(field, value); });
  }

 private:
  template <class T>
  void read(const FieldInfo& field, T& value) const {
    const std::string text = arguments.text(field.flag);
    if constexpr (std::is_enum_v<T>) {
      const auto words = words_of<T>();
      const auto found = std::ranges::find(words, text);
      if (found == words.end()) reject(field, text, fmt::format("{}", fmt::join(words, ", ")));
      value = static_cast<T>(found - words.begin());
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = text;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (text != "true" && text != "false") reject(field, text, "true or false");
      value = text == "true";
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      value = arguments.numbers(field.flag);
    } else if constexpr (std::is_same_v<T, double>) {
      double number = 0;
      const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (status != std::errc() || end != text.data() + text.size()) reject(field, text, "a number");
      value = number;
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(arguments.integer(field.flag, 0, 0, std::is_same_v<T, int> ? (1LL << 31) - 1 : 1LL << 62));
    }
  }
};

// Appends an option per field with a flag. Texts live as long as the program: options point to them.
struct FlagMaker {
  std::span<const std::string_view> left_out;
  std::vector<Option> options{};

  template <class T>
  void operator()(const FieldInfo& field, const T& value) {
    static std::deque<std::string> texts;
    const auto leads = [&](std::string_view word) { return std::string_view(field.path).starts_with(word); };
    if (field.flag[0] == '\0' || std::ranges::any_of(left_out, leads)) return;
    const char* const fallback =
        field.fallback[0] != '\0' ? field.fallback : texts.emplace_back(text_of(value)).c_str();
    const char* const choices = texts.emplace_back(choices_of<T>()).c_str();
    const char* help = field.help;
    if constexpr (std::is_enum_v<T>)
      help = texts.emplace_back(fmt::format("{}: {}", help, fmt::join(words_of<T>(), ", "))).c_str();
    options.push_back({field.flag, placeholder<T>(), fallback, help, false, Completes::kNothing, choices});
  }
};

// The flag of a training setting, also of those that are read elsewhere; "": it has none.
std::string flag_of(const FieldInfo& field) {
  const std::string_view path = field.path;
  if (path == "model" || path == "device" || path == "seed") return "--" + std::string(path);
  if (path == "image_size") return "--image-size";
  return path == "qat.enabled" ? "--qat" : field.flag;
}

// The flags by the paths of their settings, as they begin messages: "train.optimiser.momentum".
std::map<std::string, std::string> flags_by_path() {
  std::map<std::string, std::string> flags;
  const TrainSettings train;
  visit_train_fields(
      train, [&](const FieldInfo& field, const auto&) { flags[std::string("train.") + field.path] = flag_of(field); });
  const HostSettings host;
  visit_host_fields(
      host, [&](const FieldInfo& field, const auto&) { flags[std::string("host.") + field.path] = field.flag; });
  return flags;
}

}  // namespace

std::vector<Option> train_flags(std::span<const std::string_view> left_out) {
  FlagMaker maker{left_out};
  const TrainSettings defaults;
  visit_train_fields(defaults, maker);
  return std::move(maker.options);
}

std::vector<Option> host_flags() {
  FlagMaker maker{};
  const HostSettings defaults;
  visit_host_fields(defaults, maker);
  return std::move(maker.options);
}

void apply_host_flags(const Arguments& arguments, HostSettings& settings) {
  ConfigurationFaults faults;
  visit_host_fields(settings, FlagReader{arguments, faults});
  faults.throw_if_any();
}

void apply_train_flags(const Arguments& arguments, TrainSettings& settings) {
  const OptimiserSettings before = settings.optimiser;
  ConfigurationFaults faults;
  visit_train_fields(settings, FlagReader{arguments, faults});
  faults.throw_if_any();
  OptimiserSettings& optimiser = settings.optimiser;
  if (!has_fused_form(optimiser.name) && before.form == UpdateForm::kFused && !arguments.has("--update"))
    optimiser.form = UpdateForm::kForeach;
}

void check_flags_in_use(const Arguments& arguments, const TrainSettings& settings, ConfigurationFaults& faults) {
  const std::map<std::string, std::string> flags = flags_by_path();
  const auto name_of = [&](std::string_view path) {
    const std::string& flag = flags.at("train." + std::string(path));
    return flag.empty() ? std::string(path) : flag;
  };
  visit_train_fields(settings, [&](const FieldInfo& field, const auto&) {
    const std::string flag = flag_of(field);
    if (!arguments.has(flag)) return;
    const std::string why = why_without_effect(field.path, settings, name_of);
    if (!why.empty()) faults.add({ErrorKind::kArgument, flag + ": " + why});
  });
}

std::string with_flag_names(const Arguments& arguments, const std::string& message) {
  const std::map<std::string, std::string> flags = flags_by_path();
  std::string named;
  for (std::size_t begin = 0, end = 0; begin <= message.size(); begin = end + 1) {
    end = std::min(message.find('\n', begin), message.size());
    std::string line = message.substr(begin, end - begin);
    const std::string path = line.substr(0, line.find(": "));
    const auto found = flags.find(path);
    if (found != flags.end() && arguments.has(found->second)) line.replace(0, path.size(), found->second);
    named.append(begin == 0 ? "" : "\n").append(line);
  }
  return named;
}

}  // namespace unstarve::cli
