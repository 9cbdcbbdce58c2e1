#include "command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "unstarve/core/error.h"

namespace unstarve::cli {

std::span<const Command> commands() {
  static const std::array table{bench_command(),      watch_command(),   diagnose_command(), compare_command(),
                                capacity_command(),   tune_command(),    train_command(),    lr_find_command(),
                                batch_find_command(), export_command(),  compress_command(), infer_command(),
                                models_command(),     inspect_command(), explain_command(),  pack_command(),
                                verify_command(),     index_command(),   datasets_command(), prepare_command(),
                                synth_command(),      doctor_command(),  demo_command(),     help_command(),
                                completion_command(), man_command()};
  return table;
}

Arguments Arguments::without(const std::string& name) const {
  Arguments others = *this;
  others.values_.erase(name);
  return others;
}

std::string Arguments::text(const std::string& name, const std::string& fallback) const {
  const auto found = values_.find(name);
  return found == values_.end() ? fallback : found->second;
}

namespace {

template <class T>
T parse(const std::string& name, const std::string& text, T low, T high, const char* kind) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high))
    throw Error(ErrorKind::kArgument,
                fmt::format("{}: found \"{}\"; expected {} from {} to {}", name, text, kind, low, high));
  return value;
}

using Unit = std::pair<std::string_view, double>;

struct Quantity {
  double number = 0, unit = 0;
  [[nodiscard]] double value() const { return number * unit; }
};

// Of a number that is followed by one of the units, the first that fits; 0 for other text.
Quantity parse_quantity(std::string_view text, std::span<const Unit> units) {
  const auto unit = std::ranges::find_if(units, [&](const Unit& each) { return text.ends_with(each.first); });
  if (unit == units.end()) return {};
  double number = 0;
  const char* const end = text.data() + text.size() - unit->first.size();
  const auto [stop, status] = std::from_chars(text.data(), end, number);
  return status == std::errc() && stop == end ? Quantity{number, unit->second} : Quantity{};
}

}  // namespace

double Arguments::number(const std::string& name, double fallback, double low, double high) const {
  return has(name) ? parse(name, text(name), low, high, "a number") : fallback;
}

long long Arguments::integer(const std::string& name, long long fallback, long long low, long long high) const {
  return has(name) ? parse(name, text(name), low, high, "a whole number") : fallback;
}

std::uint64_t Arguments::megabytes(const std::string& name, std::uint64_t fallback) const {
  if (!has(name)) return fallback;
  constexpr std::array<Unit, 6> kUnits{
      {{"MiB", 1.048576}, {"GiB", 1073.741824}, {"TiB", 1099511.627776}, {"MB", 1}, {"GB", 1e3}, {"TB", 1e6}}};
  const std::string size = text(name);
  const double megabytes = parse_quantity(size, kUnits).value();
  if (megabytes >= 1 && megabytes <= 0x1p40) return static_cast<std::uint64_t>(megabytes);
  throw Error(
      ErrorKind::kArgument,
      fmt::format("{}: found \"{}\"; expected a size of 1MB or more with its unit: 500MB, 1.5GB, 2GiB", name, size));
}

double Arguments::seconds(const std::string& name, double fallback) const {
  if (!has(name)) return fallback;
  constexpr std::array<Unit, 3> kUnits{{{"min", 60}, {"s", 1}, {"h", 3600}}};
  const std::string time = text(name);
  const Quantity found = parse_quantity(time, kUnits);
  if (found.value() >= 0.1 && found.number <= 1e6) return found.value();
  throw Error(
      ErrorKind::kArgument,
      fmt::format("{}: found \"{}\"; expected a time of 0.1s or more with its unit: 30s, 5min, 1h", name, time));
}

std::vector<double> Arguments::numbers(const std::string& name) const {
  const std::string list = text(name);
  std::vector<double> numbers;
  for (const char* at = list.data(); at <= list.data() + list.size(); ++at) {  // ++at: the comma
    const char* const end = std::find(at, list.data() + list.size(), ',');
    const auto [stop, status] = std::from_chars(at, end, numbers.emplace_back());
    if (status != std::errc() || stop != end)
      throw Error(ErrorKind::kArgument,
                  fmt::format("{}: found \"{}\"; expected numbers separated by commas", name, list));
    at = end;
  }
  return numbers;
}

}  // namespace unstarve::cli
