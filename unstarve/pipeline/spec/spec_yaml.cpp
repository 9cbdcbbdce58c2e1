#include "unstarve/pipeline/spec/spec_yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <type_traits>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/core/utf8.h"
#include "unstarve/ops/familiar_names.h"
#include "unstarve/pipeline/spec/spec_nodes.h"
#include "unstarve/pipeline/spec/yaml_map.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

// "" if the value has no name.
template <class Enumeration>
const char* enumerator_name(Enumeration value) {
  for (const auto& [name, candidate] : names_of(value))
    if (candidate == value) return name;
  return "";
}

// The shortest text that parses to the same number.
template <class Number>
std::string exact_text(Number number) {
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number < 0 ? "-.inf" : ".inf";
  return fmt::format("{}", number);
}

// Writes nodes to a mapping.
class Writer {
 public:
  // Leaves out the mapping `left_out`.
  explicit Writer(YAML::Emitter& out, std::string_view left_out = "") : out_(out), left_out_(left_out) {}

  template <class T>
  void node(const char* key, const T& value, const NodeInfo& info) {
    if (!info.written) return;
    out_ << YAML::Key << key << YAML::Value;
    write(value);
  }
  template <class Visit>
  void map(const char* key, const NodeInfo& info, const Visit& visit) {
    if (!info.written || key == left_out_) return;
    out_ << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginMap;
    visit(*this);
    out_ << YAML::EndMap;
  }
  template <class Visit>
  void sources(const char* key, const std::vector<SourceSpec>& sources, const NodeInfo& info, const Visit& visit) {
    if (!info.written) return;
    out_ << YAML::Key << key << YAML::Value << YAML::BeginSeq;
    for (const SourceSpec& source : sources) {
      out_ << YAML::Flow << YAML::BeginMap;
      visit(*this, source);
      out_ << YAML::EndMap;
    }
    out_ << YAML::EndSeq;
  }

 private:
  template <class T>
  void write(const T& value) {
    if constexpr (std::is_enum_v<T>)
      out_ << enumerator_name(value);
    else
      out_ << value;  // bool, int, std::uint64_t
  }
  void write(double value) { out_ << exact_text(value); }
  void write(const std::string& text) { out_ << YAML::DoubleQuoted << text; }
  template <class T>
  void write(const std::optional<T>& value) {
    write(*value);
  }
  void write(const std::vector<std::string>& texts) {
    out_ << YAML::BeginSeq;
    for (const std::string& text : texts) write(text);
    out_ << YAML::EndSeq;
  }
  void write(const std::vector<double>& numbers) { write_numbers(numbers); }
  void write(const std::array<float, kChannels>& numbers) { write_numbers(numbers); }
  void write(Size size) {
    write_numbers(std::array{static_cast<double>(size.height), static_cast<double>(size.width)});
  }
  void write(const std::map<std::string, double>& weights) {
    out_ << YAML::BeginMap;
    for (const auto& [name, weight] : weights)
      out_ << YAML::Key << YAML::DoubleQuoted << name << YAML::Value << exact_text(weight);
    out_ << YAML::EndMap;
  }
  void write(const std::map<std::string, bool>& switches) {
    out_ << YAML::Flow << YAML::BeginMap;
    for (const auto& [name, on] : switches) out_ << YAML::Key << name << YAML::Value << on;
    out_ << YAML::EndMap;
  }
  void write(const std::vector<OpSpec>& operations) {
    out_ << YAML::BeginSeq;
    for (const OpSpec& operation : operations) {
      out_ << YAML::BeginMap << YAML::Key << operation.name << YAML::Value << YAML::Flow << YAML::BeginMap;
      for (const auto& [name, value] : operation.params) {
        out_ << YAML::Key << name << YAML::Value;
        if (value.scheduled())
          write(value.schedule);
        else if (!value.word.empty())
          out_ << value.word;
        else
          write_one_or_more(value.numbers);
      }
      out_ << YAML::EndMap << YAML::EndMap;
    }
    out_ << YAML::EndSeq;
  }
  void write(const OpSchedule& schedule) {
    out_ << YAML::BeginMap << YAML::Key << "schedule" << YAML::Value << YAML::BeginMap;
    for (const auto& [epoch, numbers] : schedule.points) {
      out_ << YAML::Key << YAML::DoubleQuoted << std::to_string(epoch) << YAML::Value;  // JSON keys are strings
      write_one_or_more(numbers);
    }
    out_ << YAML::EndMap;
    if (schedule.linear) out_ << YAML::Key << "between" << YAML::Value << "linear";
    if (schedule.multiple != 0) out_ << YAML::Key << "multiple" << YAML::Value << exact_text(schedule.multiple);
    out_ << YAML::EndMap;
  }
  void write_numbers(const auto& numbers) {
    out_ << YAML::Flow << YAML::BeginSeq;
    for (const auto number : numbers) out_ << exact_text(number);
    out_ << YAML::EndSeq;
  }
  void write_one_or_more(const std::vector<double>& numbers) {
    if (numbers.size() == 1)
      write(numbers[0]);
    else
      write_numbers(numbers);
  }

  YAML::Emitter& out_;
  std::string_view left_out_;
};

OpSchedule read_schedule(YamlMap map) {
  OpSchedule schedule;
  YamlMap points = map.map("schedule");
  for (const std::string& key : points.keys()) {
    const auto epoch = parse_number<std::uint32_t>(key);
    if (!epoch) points.fail(key, fmt::format("found \"{}\"; expected an epoch: a whole number of 0 or more", key));
    if (schedule.points.contains(*epoch)) points.fail(key, fmt::format("found epoch {} twice; expected once", *epoch));
    points.get(key, schedule.points[*epoch]);
  }
  std::string between = "steps";
  map.get("between", between);
  schedule.linear = between == "linear";
  if (!schedule.linear && between != "steps")
    map.fail("between", fmt::format("found \"{}\"; expected one of steps, linear", between));
  map.get("multiple", schedule.multiple);
  if (schedule.points.empty()) map.fail("schedule", "found no epochs; expected epochs with values: {0: 128, 10: 224}");
  map.finish();
  return schedule;
}

// Reads nodes from a mapping. Absent ones keep their values, and so do those with a fault.
class Reader {
 public:
  Reader(YamlMap map, Faults& faults) : map_(std::move(map)), faults_(faults) {}
  // Unknown keys are faults.
  void finish() const {
    faults_.collect([&] { map_.finish(); });
  }

  template <class T>
  void node(const char* key, T& value, const NodeInfo&) {
    faults_.collect([&] {
      T found = value;
      read(key, found);
      value = std::move(found);
    });
  }
  template <class Visit>
  void map(const char* key, const NodeInfo&, const Visit& visit) {
    faults_.collect([&] {
      Reader inner(map_.map(key), faults_);
      visit(inner);
      inner.finish();
    });
  }
  template <class Visit>
  void sources(const char* key, std::vector<SourceSpec>& sources, const NodeInfo&, const Visit& visit) {
    faults_.collect([&] {
      for (YamlMap& source : map_.maps(key)) {
        Reader inner(std::move(source), faults_);
        visit(inner, sources.emplace_back());
        inner.finish();
      }
    });
  }

 private:
  template <class T>
  void read(const char* key, T& value) {
    if constexpr (std::is_enum_v<T>)
      read_name(key, value);
    else
      map_.get(key, value);
  }
  template <class Enumeration>
  void read_name(const char* key, Enumeration& value) {
    std::string text = enumerator_name(value), known;
    map_.get(key, text);
    for (const auto& [name, candidate] : names_of(value)) {
      if (text == name) {
        value = candidate;
        return;
      }
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
    map_.fail(key, fmt::format("found \"{}\"; expected one of {}", text, known));
  }
  void read(const char* key, std::array<float, kChannels>& value) {
    std::vector<double> numbers(value.begin(), value.end());
    map_.get(key, numbers);
    if (numbers.size() != value.size())
      map_.fail(key, fmt::format("found [{}]; expected 3 numbers, one per channel", fmt::join(numbers, ", ")));
    for (std::size_t c = 0; c < value.size(); ++c) value[c] = static_cast<float>(numbers[c]);
  }
  void read(const char* key, Size& size) {
    std::optional<std::vector<double>> sides;
    map_.get(key, sides);
    if (!sides) return;
    const auto side = [&](std::size_t i) {
      if (sides->size() != 2 || !((*sides)[i] >= 1 && (*sides)[i] <= kMostPadded) ||
          (*sides)[i] != std::floor((*sides)[i]))
        map_.fail(key, fmt::format("expected [height, width], whole numbers of 1 to {}", kMostPadded));
      return static_cast<int>((*sides)[i]);
    };
    size.height = side(0);
    size.width = side(1);
  }
  void read(const char* key, std::map<std::string, double>& weights) {
    YamlMap map = map_.map(key);
    for (const std::string& name : map.keys()) map.get(name, weights[name]);
  }
  void read(const char* key, std::map<std::string, bool>& switches) {
    YamlMap map = map_.map(key);
    for (const std::string& name : map.keys()) {
      if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos)
        map.fail(name, "expected the name of a pass: lower-case letters and underscores");
      map.get(name, switches[name]);
    }
  }
  void read(const char* key, std::vector<OpSpec>& operations) {
    if (map_.has(key)) operations.clear();
    for (auto& named : map_.named_list(key)) {
      faults_.collect([&] {
        OpSpec operation{named.first, {}};
        YamlMap& params = named.second;
        for (const std::string& param : params.keys()) {
          OpValue& value = operation.params[param];
          if (params.is_map(param))
            value.schedule = read_schedule(params.map(param));
          else if (params.is_word(param))
            params.get(param, value.word);
          else
            params.get(param, value.numbers);
        }
        try {
          operations.push_back(with_own_names(std::move(operation)));
        } catch (const Error& error) {
          map_.fail(key, error.what());
        }
      });
    }
  }

  YamlMap map_;
  Faults& faults_;
};

}  // namespace

const char* to_string(OperationsOn operations) { return enumerator_name(operations); }
const char* to_string(DecodeOn decode) { return enumerator_name(decode); }

void write_yaml(YAML::Emitter& out, const PipelineSpec& spec, std::string_view left_out) {
  out << YAML::BeginMap;
  Writer writer(out, left_out);
  visit_spec(writer, spec);
  out << YAML::EndMap;
}

PipelineSpec read_pipeline_yaml(const YamlMap& map, Faults& faults, PipelineSpec defaults) {
  PipelineSpec spec = std::move(defaults);
  Reader reader(map, faults);
  visit_spec(reader, spec);
  reader.finish();
  spec.source.yaml_location.text = map.location("source.path");
  for (std::size_t i = 0; i < spec.mix.size(); ++i)
    spec.mix[i].yaml_location.text = map.location(fmt::format("mix[{}].path", i));
  return spec;
}

PipelineSpec pipeline_from_yaml(const std::string& text, const std::string& name) {
  Faults faults;
  PipelineSpec spec = read_pipeline_yaml(YamlMap::parse(text, name), faults);
  faults.throw_if_any();
  return spec;
}

void check_utf8(const PipelineSpec& spec) {
  const auto check = [](const std::string& node, const std::string& text, const char* remedy) {
    if (is_utf8(text)) return;
    throw argument_error("{}: \"{}\" is not UTF-8, which YAML requires; {}", node, text, remedy);
  };
  const char* const number = "use the number of the class";
  const auto check_source = [&](const std::string& node, const SourceSpec& source) {
    check(node + ".path", source.path, "rename the data");
    for (const std::string& name : source.filter.labels) check(node + ".filter.labels", name, number);
    for (const std::string& name : source.filter.drop_labels) check(node + ".filter.drop_labels", name, number);
  };
  check_source("source", spec.source);
  for (std::size_t i = 0; i < spec.mix.size(); ++i) check_source(fmt::format("mix[{}]", i), spec.mix[i]);
  for (const auto& [name, weight] : spec.order.class_weights) check("order.class_weights", name, number);
  check("cache.folder", spec.cache.folder, "use a folder with another name");
}

std::string to_yaml(const PipelineSpec& spec, std::string_view left_out) {
  YAML::Emitter out;
  write_yaml(out, spec, left_out);
  return std::string(out.c_str()) + "\n";
}

}  // namespace unstarve
