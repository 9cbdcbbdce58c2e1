#include "unstarve/core/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/core/format_error.h"
#include "unstarve/core/json.h"

namespace unstarve {
namespace {

using nlohmann::json;

[[noreturn]] void reject(const std::string& where, const std::string& found, const char* expected) {
  throw input_error("profile: {} is {}; expected {}", where, found, expected);
}

const json& field(const json& object, const std::string& where, const char* name) {
  if (!object.is_object()) reject(where, object.type_name(), "an object");
  const auto found = object.find(name);
  if (found == object.end()) {
    throw input_error("profile: {} has no field \"{}\"", where, name);
  }
  return *found;
}

// Strict: 1.5 or "3" in place of an integer means that the profile was not written by this library.
void read(const json& object, const std::string& where, const char* name, std::int64_t& into) {
  const json& value = field(object, where, name);
  const bool fits =
      value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
  if (!fits) reject(where + "." + name, json_text(value), "an integer");
  into = value.get<std::int64_t>();
}
void read(const json& object, const std::string& where, const char* name, int& into) {
  std::int64_t wide = 0;
  read(object, where, name, wide);
  if (wide < INT32_MIN || wide > INT32_MAX) reject(where + "." + name, std::to_string(wide), "a 32-bit integer");
  into = static_cast<int>(wide);
}
void read(const json& object, const std::string& where, const char* name, double& into) {
  const json& value = field(object, where, name);
  if (!value.is_number()) reject(where + "." + name, value.type_name(), "a number");
  into = value.get<double>();
}
void read(const json& object, const std::string& where, const char* name, std::string& into) {
  const json& value = field(object, where, name);
  if (!value.is_string()) reject(where + "." + name, value.type_name(), "a string");
  into = value.get<std::string>();
}

template <class T, class ReadOne>
void read_list(const json& object, const char* name, std::vector<T>& into, ReadOne read_one) {
  const json& list = field(object, "top level", name);
  if (!list.is_array()) reject(name, list.type_name(), "a list");
  for (const json& item : list) {
    const std::string where = fmt::format("{}[{}]", name, into.size());
    read_one(item, where, into.emplace_back());
  }
}

// Fields added in version 2.
void read_version_2_fields(const json& in, Profile& profile) {
  const std::string top = "top level";
  read(in, top, "read_ahead", profile.read_ahead);
  read(in, top, "batch_samples", profile.batch_samples);
  read(in, top, "batch_bytes", profile.batch_bytes);
  read(in, top, "run_delay_ns", profile.run_delay_ns);
  const json& consumer = field(in, top, "consumer");
  read(consumer, "consumer", "batches", profile.consumer.batches);
  read(consumer, "consumer", "busy_ns", profile.consumer.busy_ns);
  read(consumer, "consumer", "squares_us2", profile.consumer.squares_us2);
  read(consumer, "consumer", "wait_ns", profile.consumer.wait_ns);
  read(consumer, "consumer", "pauses", profile.consumer.pauses);
  read(consumer, "consumer", "paused_ns", profile.consumer.paused_ns);
  read_list(in, "tuning", profile.tuning, [](const json& item, const std::string& where, TuningStep& t) {
    read(item, where, "seconds", t.seconds);
    read(item, where, "threads", t.threads);
    read(item, where, "prefetch", t.prefetch);
    read(item, where, "read_ahead", t.read_ahead);
    read(item, where, "reason", t.reason);
  });
}

}  // namespace

std::string to_json(const Profile& profile) {
  nlohmann::ordered_json out;
  out["version"] = profile.version;
  out["wall_ns"] = profile.wall_ns;
  out["samples"] = profile.samples;
  out["batches"] = profile.batches;
  out["loader_threads"] = profile.loader_threads;
  out["prefetch_batches"] = profile.prefetch_batches;
  out["cpu_cores_busy"] = profile.cpu_cores_busy;
  out["read_ahead"] = profile.read_ahead;
  out["batch_samples"] = profile.batch_samples;
  out["batch_bytes"] = profile.batch_bytes;
  out["run_delay_ns"] = profile.run_delay_ns;
  const ConsumerProfile& consumer = profile.consumer;
  out["consumer"] = {{"batches", consumer.batches},         {"busy_ns", consumer.busy_ns},
                     {"squares_us2", consumer.squares_us2}, {"wait_ns", consumer.wait_ns},
                     {"pauses", consumer.pauses},           {"paused_ns", consumer.paused_ns}};
  for (const char* list : {"stages", "step", "utilisation", "tuning"}) out[list] = nlohmann::ordered_json::array();
  for (const StageProfile& s : profile.stages) {
    out["stages"].push_back({{"name", s.name},
                             {"samples", s.samples},
                             {"busy_ns", s.busy_ns},
                             {"bytes", s.bytes},
                             {"cpu_ns", s.cpu_ns},
                             {"squares_us2", s.squares_us2},
                             {"awake_ns", s.awake_ns}});
  }
  for (const StepPart& p : profile.step) {
    out["step"].push_back({{"name", p.name}, {"mean_ms", p.mean_ms}, {"median_ms", p.median_ms}, {"p95_ms", p.p95_ms}});
  }
  for (const UtilisationPoint& u : profile.utilisation) {
    out["utilisation"].push_back({{"seconds", u.seconds}, {"utilisation", u.utilisation}});
  }
  for (const TuningStep& t : profile.tuning) {
    out["tuning"].push_back({{"seconds", t.seconds},
                             {"threads", t.threads},
                             {"prefetch", t.prefetch},
                             {"read_ahead", t.read_ahead},
                             {"reason", t.reason}});
  }
  return json_text(out);
}

Profile profile_from_json(const std::string& text) {
  json in;
  try {
    in = parse_json(text);
  } catch (const json::exception& e) {
    throw input_error("profile: not JSON: {}", e.what());
  }
  const std::string top = "top level";
  Profile profile;
  read(in, top, "version", profile.version);
  if (profile.version < 1 || profile.version > kProfileVersion) {
    throw input_error("profile: version {}; expected 1 to {}", profile.version, kProfileVersion);
  }
  const bool second = profile.version >= 2, third = profile.version >= 3;
  read(in, top, "wall_ns", profile.wall_ns);
  read(in, top, "samples", profile.samples);
  read(in, top, "batches", profile.batches);
  read(in, top, "loader_threads", profile.loader_threads);
  read(in, top, "prefetch_batches", profile.prefetch_batches);
  read(in, top, "cpu_cores_busy", profile.cpu_cores_busy);
  read_list(in, "stages", profile.stages, [&](const json& item, const std::string& where, StageProfile& s) {
    read(item, where, "name", s.name);
    read(item, where, "samples", s.samples);
    read(item, where, "busy_ns", s.busy_ns);
    read(item, where, "bytes", s.bytes);
    if (!second) return;
    read(item, where, "cpu_ns", s.cpu_ns);
    read(item, where, "squares_us2", s.squares_us2);
    if (third) read(item, where, "awake_ns", s.awake_ns);
  });
  read_list(in, "step", profile.step, [](const json& item, const std::string& where, StepPart& p) {
    read(item, where, "name", p.name);
    read(item, where, "mean_ms", p.mean_ms);
    read(item, where, "median_ms", p.median_ms);
    read(item, where, "p95_ms", p.p95_ms);
  });
  read_list(in, "utilisation", profile.utilisation,
            [](const json& item, const std::string& where, UtilisationPoint& u) {
              read(item, where, "seconds", u.seconds);
              read(item, where, "utilisation", u.utilisation);
            });
  if (second) read_version_2_fields(in, profile);
  profile.version = kProfileVersion;
  return profile;
}

Profile between(const Profile& earlier, const Profile& later) {
  Profile part = later;
  part.wall_ns -= earlier.wall_ns;
  part.samples -= earlier.samples;
  part.batches -= earlier.batches;
  part.run_delay_ns -= earlier.run_delay_ns;
  for (StageProfile& stage : part.stages) {
    const auto before = std::find_if(earlier.stages.begin(), earlier.stages.end(),
                                     [&](const StageProfile& s) { return s.name == stage.name; });
    if (before == earlier.stages.end()) continue;
    stage.samples -= before->samples;
    stage.busy_ns -= before->busy_ns;
    stage.bytes -= before->bytes;
    stage.cpu_ns -= before->cpu_ns;
    stage.squares_us2 -= before->squares_us2;
    stage.awake_ns -= before->awake_ns;
  }
  ConsumerProfile& consumer = part.consumer;
  consumer.batches -= earlier.consumer.batches;
  consumer.busy_ns -= earlier.consumer.busy_ns;
  consumer.squares_us2 -= earlier.consumer.squares_us2;
  consumer.wait_ns -= earlier.consumer.wait_ns;
  consumer.pauses -= earlier.consumer.pauses;
  consumer.paused_ns -= earlier.consumer.paused_ns;
  return part;
}

}  // namespace unstarve
