#include "unstarve/pipeline/spec/operations_yaml.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>
#include <utility>

#include "unstarve/pipeline/spec/yaml_values.h"

namespace unstarve {
namespace {

constexpr Names<bool, 2> kBetween{{{"steps", false}, {"linear", true}}};

void write_schedule(YAML::Emitter& out, const OpSchedule& schedule) {
  out << YAML::BeginMap << YAML::Key << "schedule" << YAML::Value << YAML::BeginMap;
  for (const auto& [epoch, numbers] : schedule.points) {
    // JSON keys are strings.
    out << YAML::Key << YAML::DoubleQuoted << std::to_string(epoch) << YAML::Value;
    if (numbers.size() == 1)
      out << exact_text(numbers[0]);
    else
      write_numbers(out, numbers);
  }
  out << YAML::EndMap;
  if (schedule.linear) out << YAML::Key << "between" << YAML::Value << name_of(kBetween, schedule.linear);
  if (schedule.multiple != 0) out << YAML::Key << "multiple" << YAML::Value << exact_text(schedule.multiple);
  out << YAML::EndMap;
}

OpSchedule read_schedule(YamlMap map) {
  OpSchedule schedule;
  YamlMap points = map.map("schedule");
  for (const std::string& key : points.keys()) {
    std::uint32_t epoch = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), epoch);
    if (error != std::errc() || end != key.data() + key.size())
      points.fail(key, fmt::format("found \"{}\", expected an epoch: a whole number of 0 or more", key));
    if (schedule.points.contains(epoch)) points.fail(key, fmt::format("found epoch {} twice, expected once", epoch));
    points.get(key, schedule.points[epoch]);
  }
  get_named(map, "between", kBetween, schedule.linear);
  map.get("multiple", schedule.multiple);
  if (schedule.points.empty()) map.fail("schedule", "found no epochs, expected epochs with values: {0: 128, 10: 224}");
  map.finish();
  return schedule;
}

}  // namespace

void write_operations(YAML::Emitter& out, const char* key, const std::vector<OpSpec>& operations) {
  out << YAML::Key << key << YAML::Value << YAML::BeginSeq;
  for (const OpSpec& operation : operations) {
    out << YAML::BeginMap << YAML::Key << operation.name << YAML::Value << YAML::Flow << YAML::BeginMap;
    for (const auto& [name, value] : operation.params) {
      out << YAML::Key << name << YAML::Value;
      if (value.scheduled())
        write_schedule(out, value.schedule);
      else if (!value.word.empty())
        out << value.word;
      else if (value.numbers.size() == 1)
        out << exact_text(value.numbers[0]);
      else
        write_numbers(out, value.numbers);
    }
    out << YAML::EndMap << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

void read_operations(YamlMap& map, const char* key, std::vector<OpSpec>& operations) {
  for (auto& [name, params] : map.named_list(key)) {
    OpSpec operation{name, {}};
    for (const std::string& param : params.keys()) {
      OpValue& value = operation.params[param];
      if (params.is_map(param))
        value.schedule = read_schedule(params.map(param));
      else if (params.is_word(param))
        params.get(param, value.word);
      else
        params.get(param, value.numbers);
    }
    operations.push_back(std::move(operation));
  }
}

}  // namespace unstarve
