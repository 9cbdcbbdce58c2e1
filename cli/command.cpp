#include "command.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "unstarve/core/error.h"

namespace unstarve::cli {

std::span<const Command> commands() {
  static const std::array table{bench_command(),      tune_command(),  train_command(),  inspect_command(),
                                explain_command(),    pack_command(),  verify_command(), datasets_command(),
                                prepare_command(),    synth_command(), doctor_command(), demo_command(),
                                completion_command(), man_command()};
  return table;
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
                fmt::format("{}: found \"{}\", expected {} from {} to {}", name, text, kind, low, high));
  return value;
}

}  // namespace

double Arguments::number(const std::string& name, double fallback, double low, double high) const {
  return has(name) ? parse(name, text(name), low, high, "a number") : fallback;
}

long long Arguments::integer(const std::string& name, long long fallback, long long low, long long high) const {
  return has(name) ? parse(name, text(name), low, high, "a whole number") : fallback;
}

}  // namespace unstarve::cli
