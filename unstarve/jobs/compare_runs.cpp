#include "unstarve/jobs/compare_runs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/diagnose/profile/json_problem.h"
#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/jobs/ladder/block_comparison.h"
#include "unstarve/observe/block_bootstrap.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/html.h"

namespace unstarve {
namespace {

constexpr std::size_t kFewestSteps = 8;
constexpr std::size_t kFewestRounds = 2;

constexpr const char* kExpected = "the result of unstarve watch --out or unstarve bench --json";

[[noreturn]] void reject(const std::string& name, const std::string& found, const std::string& advice = "") {
  throw Error(ErrorKind::kInput, fmt::format("compare {}: found {}; expected {}{}", name, found, kExpected, advice));
}

// The start of the line that contains the byte.
std::string line_at(const std::string& text, std::size_t byte) {
  constexpr std::size_t kMost = 60;
  const std::size_t end = std::min(byte, text.size());
  const std::size_t newline = end > 0 ? text.rfind('\n', end - 1) : std::string::npos;
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  return text.substr(begin, std::min(text.find('\n', begin) - begin, kMost));
}

Json read_json(const std::filesystem::path& path) {
  const std::string text = read_text_file(path);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) reject(path.string(), "an empty file");
  if (text.starts_with("\x1f\x8b"))
    reject(path.string(), "a file compressed by gzip", ". Decompress it first (gunzip)");
  if (text[begin] == '<') reject(path.string(), "HTML or XML", ". Pass the file of --out, not of --report");
  try {
    return parse_ordered_json(text);
  } catch (const Json::parse_error& error) {
    if (error.byte > text.size())
      reject(path.string(), fmt::format("JSON that ends after {} bytes, before it is complete", text.size()),
             ". The file is truncated: write it again");
    reject(path.string(), fmt::format("no JSON at byte {}: {}", error.byte, printable(line_at(text, error.byte))));
  } catch (const Json::exception& error) {
    reject(path.string(), printable(json_problem(error.what())));
  }
}

bool has_interval(const RatioInterval& ratio) { return ratio.high > 0; }
bool is_slower(const ComparedPart& part) { return has_interval(part.ratio) && part.ratio.high < 1; }

// --- watch -----------------------------------------------------------------------------------------------------------

RunProfile profile_in(const Json& json, const std::string& name) {
  return run_profile_from_json(json_text((json.contains("profile") ? json.at("profile") : json)), name);
}

// Milliseconds per step of what the main thread does; nothing without stacks.
std::optional<double> part_ms(const RunProfile& profile, Activity activity) {
  if (profile.stacks.seconds <= 0 || profile.steps.rate <= 0) return std::nullopt;
  return 1e3 * share_of(profile.stacks, StackThread::kMain, activity) / profile.steps.rate;
}

// Only durations are known: the steps are placed back to back.
std::vector<RecordedSpan> steps_of_watch(const std::vector<double>& seconds) {
  std::vector<RecordedSpan> steps;
  double at = 0;
  for (const double each : seconds) {
    steps.push_back({fmt::format("step {}", steps.size() + 1), at, each});
    at += each;
  }
  return steps;
}

// Of "the loop at train.py:20 (main)" the function, and otherwise all.
std::string loop_in(const std::string& source) {
  const std::size_t begin = source.rfind('(');
  return source.starts_with("the loop at ") && begin != std::string::npos ? source.substr(begin) : source;
}

// Steps of different loops have no common speed. Another line of the same function may be the same loop: an edited
// program has other lines.
void check_sources(const RunProfile& before, const RunProfile& after, RunComparison& comparison) {
  const std::string &old_source = before.steps.source, &new_source = after.steps.source;
  if (old_source == new_source) return;
  const std::string found = fmt::format("{} and {}", printable(old_source), printable(new_source));
  if (loop_in(old_source) != loop_in(new_source)) {
    throw Error(ErrorKind::kInput, fmt::format("compare {} and {}: found steps of {}; expected the same loop in both. "
                                               "Mark steps with un.step() in both programs",
                                               comparison.before, comparison.after, found));
  }
  comparison.warnings.push_back(fmt::format("steps are those of {}: check that both are the same loop", found));
}

RunComparison compare_profiles(const RunProfile& before, const RunProfile& after, RunComparison comparison) {
  for (const auto& [profile, name] : {std::pair{&before, &comparison.before}, std::pair{&after, &comparison.after}}) {
    if (profile->watching.seconds <= 0 && profile->trace) reject(*name, "the diagnosis of a trace");
    if (profile->steps.seconds.empty() && profile->steps.rate > 0) {
      throw Error(ErrorKind::kInput,
                  fmt::format("compare {}: found only the period of its steps, {:.4g} s; expected at least {} single "
                              "steps. Mark steps with un.step()",
                              *name, 1 / profile->steps.rate, kFewestSteps));
    }
    if (profile->steps.seconds.size() < kFewestSteps) {
      throw Error(
          ErrorKind::kInput,
          fmt::format("compare {}: found {} steps; expected at least {}. Mark steps with un.step(), or run longer",
                      *name, profile->steps.seconds.size(), kFewestSteps));
    }
    const auto wrong = std::ranges::find_if_not(profile->steps.seconds, [](double s) { return s > 0 && s < 1e9; });
    if (wrong != profile->steps.seconds.end()) reject(*name, fmt::format("a step of {} s", *wrong));
    for (const RunFinding& finding : findings_of(*profile)) {
      if (finding.rule != "other-programs" && finding.rule != "cpu-quota") continue;
      comparison.disturbed = true;
      comparison.warnings.push_back(fmt::format("{}: {}: {}. The program itself may be as fast as before", *name,
                                                finding.title, finding.evidence));
    }
    if (const std::optional<Drift> drift = drift_of(profile->steps.seconds))
      comparison.warnings.push_back(fmt::format("{}: no steady state: {}", *name, to_text(*drift)));
  }
  check_sources(before, after, comparison);
  if (before.command != after.command)
    comparison.warnings.push_back(
        fmt::format("the commands differ: {} and {}", printable(before.command), printable(after.command)));
  comparison.whole = {"steps",          "steps/s", before.steps.rate,
                      after.steps.rate, true,      ratio_of_rates(after.steps.seconds, before.steps.seconds)};
  comparison.before_steps = steps_of_watch(before.steps.seconds);
  comparison.after_steps = steps_of_watch(after.steps.seconds);
  comparison.before_threads = before.thread_window;
  comparison.after_threads = after.thread_window;
  for (const Activity activity :
       {Activity::kInput, Activity::kDecode, Activity::kPixels, Activity::kThreads, Activity::kExchange,
        Activity::kCheckpoint, Activity::kLogging, Activity::kCompile, Activity::kOther}) {
    const auto before_ms = part_ms(before, activity), after_ms = part_ms(after, activity);
    if (!before_ms || !after_ms || *before_ms + *after_ms <= 0) continue;
    const char* const name = activity == Activity::kOther ? "compute" : to_string(activity);
    ComparedPart part{name, "ms per step", *before_ms, *after_ms, false, {}};
    part.ratio = {*after_ms > 0 ? *before_ms / *after_ms : std::numeric_limits<double>::infinity(), 0, 0, 0};
    comparison.parts.push_back(std::move(part));
  }
  return comparison;
}

// --- bench -----------------------------------------------------------------------------------------------------------

std::vector<double> rounds_in(const Json& json, const char* part, const std::string& name) {
  std::vector<double> rates;
  try {
    rates = json.at("rounds_of").at(part).get<std::vector<double>>();
  } catch (const Json::exception& error) {
    reject(name, fmt::format("no rounds of \"{}\": {}", part, json_problem(error.what())));
  }
  const bool positive = std::ranges::all_of(rates, [](double rate) { return std::isfinite(rate) && rate > 0; });
  if (rates.size() < kFewestRounds || !positive) {
    throw Error(ErrorKind::kInput,
                fmt::format("compare {}: found {} rounds of \"{}\"; expected at least {} with positive rates. Use a "
                            "longer --seconds",
                            name, rates.size(), part, kFewestRounds));
  }
  return rates;
}

// Welch's interval of the ratio of geometric means.
RatioInterval ratio_of_rounds(const std::vector<double>& after, const std::vector<double>& before) {
  double difference = 0, variance = 0, denominator = 0;
  for (const auto& [rates, sign] : {std::pair{&after, 1.0}, std::pair{&before, -1.0}}) {
    const auto n = static_cast<double>(rates->size());
    double mean = 0, squares = 0;
    for (const double rate : *rates) mean += std::log(rate) / n;
    for (const double rate : *rates) squares += (std::log(rate) - mean) * (std::log(rate) - mean);
    const double part = std::max(squares / (n - 1) / n, 1e-12);
    difference += sign * mean;
    variance += part;
    denominator += part * part / (n - 1);
  }
  const int degrees = std::max(1, static_cast<int>(variance * variance / denominator));
  const double half = student_t_975(degrees) * std::sqrt(variance);
  return {std::exp(difference), std::exp(difference - half), std::exp(difference + half),
          static_cast<int>(std::min(after.size(), before.size()))};
}

// The steps of a result; none if it is of a version that did not list them.
std::vector<RecordedSpan> steps_of_bench(const Json& json, const std::string& name) {
  std::vector<RecordedSpan> steps;
  if (!json.contains("steps")) return steps;
  using Part = std::pair<const char*, const char*>;  // list, name of the span
  constexpr std::array kParts{Part{"wait_ms", "wait for data"}, Part{"copy_ms", "copy"}, Part{"compute_ms", "compute"}};
  try {
    const auto begins = json["steps"].at("begin_s").get<std::vector<double>>();
    std::array<std::vector<double>, kParts.size()> ms;
    for (std::size_t part = 0; part < kParts.size(); ++part) {
      ms[part] = json["steps"].at(kParts[part].first).get<std::vector<double>>();
      if (ms[part].size() != begins.size()) reject(name, "lists of other lengths in \"steps\"");
    }
    for (std::size_t i = 0; i < begins.size(); ++i) {
      double at = begins[i];
      const double end = i + 1 < begins.size() ? begins[i + 1] : std::numeric_limits<double>::infinity();
      const std::size_t whole = steps.size();
      steps.push_back({fmt::format("step {}", i + 1), at});
      for (std::size_t part = 0; part < kParts.size(); ++part) {
        // On a GPU the times are of the device, and a step may begin before the last one has ended.
        const double seconds = std::clamp(1e-3 * ms[part][i], 0.0, std::max(end - at, 0.0));
        if (seconds > 0) steps.push_back({kParts[part].second, at, seconds});
        at += seconds;
      }
      steps[whole].seconds = at - begins[i];
    }
  } catch (const Json::exception& error) {
    reject(name, fmt::format("no lists of numbers in \"steps\": {}", json_problem(error.what())));
  }
  return steps;
}

RunComparison compare_benches(const Json& before, const Json& after, RunComparison comparison) {
  for (const char* const key : {"data", "device", "model", "batch"}) {
    if (before.value(key, Json()) == after.value(key, Json())) continue;
    comparison.warnings.push_back(fmt::format("\"{}\" differs: {} and {}", key, json_text(before.value(key, Json())),
                                              json_text(after.value(key, Json()))));
  }
  const auto compared = [&](const char* name) {
    const std::vector<double> old_rates = rounds_in(before, name, comparison.before),
                              new_rates = rounds_in(after, name, comparison.after);
    return ComparedPart{name,
                        "samples/s",
                        geometric_mean(old_rates),
                        geometric_mean(new_rates),
                        true,
                        ratio_of_rounds(new_rates, old_rates)};
  };
  comparison.whole = compared("together");
  comparison.before_steps = steps_of_bench(before, comparison.before);
  comparison.after_steps = steps_of_bench(after, comparison.after);
  for (const char* const name : {"storage", "loader", "copy", "network"}) comparison.parts.push_back(compared(name));
  return comparison;
}

// --- both ------------------------------------------------------------------------------------------------------------

// Of the parts that are slower, the one that lost most: time per step, or its ratio.
std::string most_regressed(const std::vector<ComparedPart>& parts) {
  const ComparedPart* worst = nullptr;
  double most = 0;
  for (const ComparedPart& part : parts) {
    const double loss = part.more_is_better ? (is_slower(part) ? 1 - part.ratio.ratio : 0) : part.after - part.before;
    if (loss <= most) continue;
    most = loss;
    worst = &part;
  }
  return worst != nullptr ? worst->name : "";
}

bool is_bench(const Json& json) { return json.contains("together") && json.contains("bottleneck"); }
bool is_watch(const Json& json) {
  return json.contains("profile") ? json.at("profile").contains("processes") : json.contains("processes");
}

// Whether the file is a result of one of the commands.
void check_result(const Json& json, const std::string& name) {
  if (is_bench(json) || is_watch(json)) return;
  if (!json.is_object()) reject(name, fmt::format("JSON of type {}", json.type_name()));
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += fmt::format("{}\"{}\"", keys.empty() ? "" : ", ", key);
  constexpr std::size_t kMost = 100;
  if (keys.size() > kMost) keys = keys.substr(0, kMost) + " ...";
  reject(name, keys.empty() ? "an empty object" : "an object with " + printable(keys));
}

// XML does not permit control characters.
std::string escape_xml(const std::string& text) { return escape_html(printable(text)); }

std::string figures_of(const ComparedPart& part) {
  const auto figure = [](double value) { return value >= 1e4 ? format_rate(value) : fmt::format("{:.4g}", value); };
  std::string text = fmt::format("{} -> {} {}", figure(part.before), figure(part.after), part.unit);
  if (has_interval(part.ratio))
    text += fmt::format(", {:.3f} [{:.3f}, {:.3f}] times the speed", part.ratio.ratio, part.ratio.low, part.ratio.high);
  return text;
}

}  // namespace

std::string RunComparison::verdict() const {
  const std::string old_name = printable(before), new_name = printable(after);
  const std::string ratio =
      fmt::format("{:.3f} [{:.3f}, {:.3f}]", whole.ratio.ratio, whole.ratio.low, whole.ratio.high);
  if (slower) {
    return fmt::format("{} is slower: {} times the speed of {}{}", new_name, ratio, old_name,
                       regressed.empty() ? "" : fmt::format("; {} regressed most", regressed));
  }
  if (faster) return fmt::format("{} is faster: {} times the speed of {}", new_name, ratio, old_name);
  return fmt::format("no significant difference: {} has {} times the speed of {}", new_name, ratio, old_name);
}

RunComparison compare_runs(const Json& before_json, const Json& after_json, const std::string& before,
                           const std::string& after) {
  RunComparison comparison;
  comparison.before = before;
  comparison.after = after;
  check_result(before_json, before);
  check_result(after_json, after);
  if (is_bench(before_json) && is_bench(after_json)) {
    comparison = compare_benches(before_json, after_json, std::move(comparison));
  } else if (is_watch(before_json) && is_watch(after_json)) {
    comparison =
        compare_profiles(profile_in(before_json, before), profile_in(after_json, after), std::move(comparison));
  } else {
    const auto kind = [](const Json& json) { return is_bench(json) ? "bench" : "watch"; };
    throw Error(ErrorKind::kInput,
                fmt::format("compare {} and {}: found results of {} and {}; expected both of unstarve watch --out, or "
                            "both of unstarve bench --json",
                            before, after, kind(before_json), kind(after_json)));
  }
  if (before_json == after_json) comparison.warnings.emplace_back("both files are of the same run");
  comparison.slower = comparison.whole.ratio.high < 1;
  comparison.faster = comparison.whole.ratio.low > 1;
  if (comparison.slower && !comparison.disturbed) comparison.regressed = most_regressed(comparison.parts);
  return comparison;
}

RunComparison compare_runs(const std::filesystem::path& before, const std::filesystem::path& after) {
  return compare_runs(read_json(before), read_json(after), before.string(), after.string());
}

std::string to_text(const RunComparison& comparison) {
  std::string text = comparison.verdict() + "\n\n";
  const auto row = [&](const ComparedPart& part) { text += fmt::format("  {:<17} {}\n", part.name, figures_of(part)); };
  row(comparison.whole);
  for (const ComparedPart& part : comparison.parts) row(part);
  for (const std::string& warning : comparison.warnings)
    text += fmt::format("  {:<17} {}\n", "warning", printable(warning));
  return text;
}

std::string to_json(const RunComparison& comparison) {
  const auto part_json = [](const ComparedPart& part) {
    const bool interval = has_interval(part.ratio);
    const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
    return Json{{"name", part.name},
                {"unit", part.unit},
                {"before", part.before},
                {"after", part.after},
                {"ratio", number(part.ratio.ratio)},
                {"low", interval ? number(part.ratio.low) : Json(nullptr)},
                {"high", interval ? number(part.ratio.high) : Json(nullptr)}};
  };
  Json parts = Json::array();
  for (const ComparedPart& part : comparison.parts) parts.push_back(part_json(part));
  return json_text(Json{{"verdict", comparison.verdict()},
                        {"slower", comparison.slower},
                        {"faster", comparison.faster},
                        {"regressed", comparison.regressed.empty() ? Json(nullptr) : Json(comparison.regressed)},
                        {"whole", part_json(comparison.whole)},
                        {"parts", std::move(parts)},
                        {"warnings", comparison.warnings}});
}

std::string to_junit(const RunComparison& comparison) {
  std::string cases;
  int failures = 0, count = 0;
  const auto add = [&](const ComparedPart& part, bool failed) {
    ++count;
    failures += failed ? 1 : 0;
    const std::string figures = escape_xml(figures_of(part));
    cases += fmt::format("  <testcase classname=\"unstarve.compare\" name=\"{}\">", escape_xml(part.name));
    if (failed)
      cases += fmt::format("<failure message=\"{}\">{}</failure>", escape_xml(comparison.verdict()), figures);
    else
      cases += fmt::format("<system-out>{}</system-out>", figures);
    cases += "</testcase>\n";
  };
  add(comparison.whole, comparison.slower);
  for (const ComparedPart& part : comparison.parts)
    add(part, comparison.slower && (is_slower(part) || part.name == comparison.regressed));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"unstarve compare\" tests=\"{}\" failures=\"{}\" "
      "errors=\"0\">\n{}</testsuite>\n",
      count, failures, cases);
}

}  // namespace unstarve
