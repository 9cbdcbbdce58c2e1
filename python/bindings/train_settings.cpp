// TrainSettings, created from keyword arguments, which are the flags of `unstarve train` without dashes: --weight-decay
// is weight_decay (train/settings_fields.h).
//
// Failure: Error(kArgument) with the argument, what was found and what was expected.

#include "python/bindings/bindings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "python/bindings/text.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/training/configuration_faults.h"
#include "unstarve/train/settings_fields.h"
#include "unstarve/train/settings_in_use.h"

namespace unstarve::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// Fields without a flag have their path.
std::string argument_of(const FieldInfo& field) {
  std::string name = field.flag[0] == '\0' ? field.path : field.flag + 2;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string in_message(const FieldInfo& field) { return fmt::format("Trainer({})", argument_of(field)); }

// Sets the fields that are in a dict.
struct SettingsReader {
  const nb::dict& given;
  ConfigurationFaults& faults;

  template <class T>
  void operator()(const FieldInfo& field, T& value) const {
    faults.collect([&] { read(field, value); });
  }

 private:
  template <class T>
  void read(const FieldInfo& field, T& value) const {
    const std::string name = argument_of(field);
    if (!given.contains(name.c_str())) return;
    const nb::object found = given[name.c_str()];
    if constexpr (std::is_enum_v<T>) {
      const auto words = words_of<T>();
      const std::string word = nb::isinstance<nb::str>(found) ? nb::cast<std::string>(found) : "";
      const auto at = std::find(words.begin(), words.end(), word);
      if (at == words.end()) reject(field, found, fmt::format("one of {}", fmt::join(words, ", ")));
      value = static_cast<T>(at - words.begin());
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!nb::isinstance<nb::str>(found)) reject(field, found, "text");
      value = nb::cast<std::string>(found);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!nb::isinstance<nb::bool_>(found)) reject(field, found, "True or False");
      value = nb::cast<bool>(found);
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      if (!nb::try_cast(found, value)) reject(field, found, "a list of numbers");
    } else if constexpr (std::is_same_v<T, double>) {
      const double number = PyFloat_AsDouble(found.ptr());
      if (PyErr_Occurred() != nullptr) reject(field, found, "a number");
      value = number;
    } else {
      value = integer<T>(field, found);
    }
  }
  template <class T>
  [[nodiscard]] static T integer(const FieldInfo& field, const nb::object& found) {
    const nb::object whole = nb::steal(PyNumber_Index(found.ptr()));
    if (!whole.is_valid()) reject(field, found, "an integer");
    const long long number = PyLong_AsLongLong(whole.ptr());
    if (PyErr_Occurred() != nullptr || number < 0 || number > (std::is_same_v<T, int> ? 1LL << 30 : 1LL << 62))
      reject(field, found, "an integer of 0 or more");
    return static_cast<T>(number);
  }
  [[noreturn]] static void reject(const FieldInfo& field, const nb::object& found, const std::string& expected) {
    PyErr_Clear();
    throw Error(ErrorKind::kArgument, fmt::format("{}: found {}; expected {}", in_message(field),
                                                  nb::cast<std::string>(nb::repr(found)), expected));
  }
};

// Reports arguments that have no effect with the other ones.
void check_in_use(const nb::dict& given, const TrainSettings& settings, ConfigurationFaults& faults) {
  std::map<std::string, std::string, std::less<>> arguments;  // by path
  visit_train_fields(settings,
                     [&](const FieldInfo& field, const auto&) { arguments[field.path] = argument_of(field); });
  const auto name_of = [&](std::string_view path) { return arguments.find(path)->second; };
  visit_train_fields(settings, [&](const FieldInfo& field, const auto&) {
    if (!given.contains(argument_of(field).c_str())) return;
    const std::string why = why_without_effect(field.path, settings, name_of);
    if (!why.empty()) faults.add({ErrorKind::kArgument, fmt::format("{}: {}", in_message(field), why)});
  });
}

TrainSettings settings_of(const nb::dict& given) {
  TrainSettings settings;
  settings.channels_last = true;
  ConfigurationFaults faults;
  visit_train_fields(settings, SettingsReader{given, faults});
  OptimiserSettings& optimiser = settings.optimiser;
  if (!given.contains("learning_rate")) settings.learning_rate = default_rate(optimiser.name);
  if (!given.contains("update"))
    optimiser.form = has_fused_form(optimiser.name) ? UpdateForm::kFused : UpdateForm::kForeach;
  faults.collect([&] { check_settings(settings, in_message); });
  if (!faults.any()) check_in_use(given, settings, faults);
  faults.throw_if_any();
  return settings;
}

nb::dict values_of(const TrainSettings& settings) {
  nb::dict values;
  visit_train_fields(settings, [&]<class T>(const FieldInfo& field, const T& value) {
    const std::string name = argument_of(field);
    if constexpr (std::is_enum_v<T>) {
      values[name.c_str()] = nb::cast(std::string(word_of(value)));
    } else {
      values[name.c_str()] = nb::cast(value);
    }
  });
  return values;
}

}  // namespace

void bind_train_settings(nb::module_& m) {
  nb::class_<TrainSettings>(m, "TrainSettings")
      .def(
          "__init__",
          [](TrainSettings* self, const nb::dict& arguments) { new (self) TrainSettings(settings_of(arguments)); },
          "arguments"_a, nb::sig("def __init__(self, arguments: dict[str, typing.Any]) -> None"))
      .def_rw("device", &TrainSettings::device)
      .def("values", &values_of, nb::sig("def values(self) -> dict[str, typing.Any]"));
}

}  // namespace unstarve::python
