#include "unstarve/train/settings.h"

#include <array>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "unstarve/core/error.h"
#include "unstarve/models/catalogue.h"
#include "unstarve/train/pruning.h"
#include "unstarve/train/settings_fields.h"

namespace unstarve {
namespace {

std::string expected(const FieldRange& range) {
  const auto bound = [](double value, bool excluded, const char* inside, const char* outside) {
    return fmt::format("{} {}", excluded ? outside : inside, value);
  };
  const std::string low = bound(range.low, range.low_excluded, "at least", "more than");
  if (range.high == kNoLimit) return low;
  return low + " and " + bound(range.high, range.high_excluded, "at most", "less than");
}

std::string path_of(const FieldInfo& field) { return std::string("train.") + field.path; }

// Collects the values that are out of range.
struct Checker {
  const TrainSettings& settings;
  std::vector<FieldFault> faults{};

  template <class... Args>
  void add(const FieldInfo& field, fmt::format_string<Args...> text, Args&&... args) {
    faults.push_back({field, fmt::format(text, std::forward<Args>(args)...)});
  }
  void require(const FieldInfo& field, double value) {
    if (field.range.contains(value)) return;  // false for NaN
    add(field, "found {}; expected {}", value, expected(field.range));
  }
  void require_ramp(const FieldInfo& field, const std::vector<double>& ramp) {
    if (ramp.size() != 2 || ramp[0] > ramp[1])
      add(field, "found {}; expected two shares of the run, the first not above the second", fmt::join(ramp, ", "));
  }
  void require_side(const FieldInfo& field, int side, int largest) {
    if (side != 0 && (side < kLeastSide || side > largest))
      add(field, "found {}; expected 0, or at least {} and at most {}", side, kLeastSide, largest);
  }
  void require_model(const FieldInfo& field, const std::string& name) {
    try {
      (void)parse_model_name(name);
    } catch (const Error& error) {
      add(field, "{}", error.what());
    }
  }
  void require_pattern(const FieldInfo& field) {
    try {
      check_pattern(settings.prune);
    } catch (const Error& error) {
      add(field, "{}", error.what());
    }
  }
  void require_form(const FieldInfo& field, UpdateForm form) {
    const OptimiserName name = settings.optimiser.name;
    if (form == UpdateForm::kFused && !has_fused_form(name))
      add(field, "found fused; expected foreach or each with {}", word_of(name));
  }
  template <class T>
  void operator()(const FieldInfo& field, const T& value) {
    const std::string_view path = field.path;
    if constexpr (std::is_same_v<T, int>) {
      if (path == "evaluation_size") require_side(field, value, kLargestSide);
      if (path == "progressive.image_size") require_side(field, value, settings.image_size);
    }
    if constexpr (std::is_same_v<T, std::string>) {
      if (path == "model") require_model(field, value);
      if (path == "prune.pattern") require_pattern(field);
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      for (const double each : value) require(field, each);
      if (path.ends_with("_ramp")) require_ramp(field, value);
    } else if constexpr (std::is_same_v<T, UpdateForm>) {
      require_form(field, value);
    } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      const auto number = static_cast<double>(value);
      require(field, number);
      if (path == "qat.freeze" && number < settings.qat.begin)
        add(field, "found {}; expected at least {}, the share at which int8 begins", value, settings.qat.begin);
    }
  }
};

}  // namespace

bool has_fused_form(OptimiserName name) noexcept {
  return name == OptimiserName::kSgd || name == OptimiserName::kAdamw;
}

double default_rate(OptimiserName name) noexcept {
  switch (name) {
    case OptimiserName::kSgd: return 0.1;
    case OptimiserName::kAdamw: return 0.001;
    case OptimiserName::kLars: return 1;
    case OptimiserName::kLamb: return 0.005;
  }
  return 0.1;
}

bool updates_on_device(const OptimiserSettings& settings) noexcept {
  return settings.form == UpdateForm::kFused || !has_fused_form(settings.name);
}

int views_of(TestAugmentation augmentation) noexcept {
  switch (augmentation) {
    case TestAugmentation::kNone: return 1;
    case TestAugmentation::kMirror: return 2;
    case TestAugmentation::kMirrorTranslate: return 6;
  }
  return 1;
}

void check_settings(const TrainSettings& settings) { check_settings(settings, path_of); }

void check_settings(const TrainSettings& settings, std::string (*name_of)(const FieldInfo&)) {
  std::vector<std::string> lines;
  for (const FieldFault& fault : faults_of(settings)) lines.push_back(name_of(fault.field) + ": " + fault.text);
  if (!lines.empty()) throw Error(ErrorKind::kArgument, fmt::format("{}", fmt::join(lines, "\n")));
}

void check_graph(const TrainSettings& settings) {
  if (settings.graph == GraphUse::kOn && settings.device == "cpu")
    throw Error(ErrorKind::kArgument, "train.graph: found on for the device cpu; expected auto or off, or a GPU");
}

std::vector<FieldFault> faults_of(const TrainSettings& settings) {
  Checker checker{settings};
  visit_train_fields(settings, checker);
  return std::move(checker.faults);
}

}  // namespace unstarve
