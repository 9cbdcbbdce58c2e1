#include "unstarve/core/profile.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& where, const std::string& found, const char* expected) {
  throw Error(ErrorKind::kInput, fmt::format("profile: {} is {}, expected {}", where, found, expected));
}

const json& field(const json& object, const std::string& where, const char* name) {
  if (!object.is_object()) refuse(where, object.type_name(), "an object");
  const auto found = object.find(name);
  if (found == object.end()) {
    throw Error(ErrorKind::kInput, fmt::format("profile: {} has no field \"{}\"", where, name));
  }
  return *found;
}

// Strict: JSON that says 1.5 or "3" where an integer belongs was not written by us.
void read(const json& object, const std::string& where, const char* name, std::int64_t& into) {
  const json& value = field(object, where, name);
  const bool fits =
      value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
  if (!fits) refuse(where + "." + name, value.dump(), "an integer");
  into = value.get<std::int64_t>();
}
void read(const json& object, const std::string& where, const char* name, int& into) {
  std::int64_t wide = 0;
  read(object, where, name, wide);
  if (wide < INT32_MIN || wide > INT32_MAX) refuse(where + "." + name, std::to_string(wide), "a 32-bit integer");
  into = static_cast<int>(wide);
}
void read(const json& object, const std::string& where, const char* name, double& into) {
  const json& value = field(object, where, name);
  if (!value.is_number()) refuse(where + "." + name, value.type_name(), "a number");
  into = value.get<double>();
}
void read(const json& object, const std::string& where, const char* name, std::string& into) {
  const json& value = field(object, where, name);
  if (!value.is_string()) refuse(where + "." + name, value.type_name(), "a string");
  into = value.get<std::string>();
}

template <class T, class ReadOne>
void read_list(const json& object, const char* name, std::vector<T>& into, ReadOne read_one) {
  const json& list = field(object, "top level", name);
  if (!list.is_array()) refuse(name, list.type_name(), "a list");
  for (const json& item : list) {
    const std::string where = fmt::format("{}[{}]", name, into.size());
    read_one(item, where, into.emplace_back());
  }
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
  for (const char* list : {"stages", "step", "utilisation"}) out[list] = nlohmann::ordered_json::array();
  for (const StageProfile& s : profile.stages) {
    out["stages"].push_back({{"name", s.name}, {"samples", s.samples}, {"busy_ns", s.busy_ns}, {"bytes", s.bytes}});
  }
  for (const StepPart& p : profile.step) {
    out["step"].push_back({{"name", p.name}, {"mean_ms", p.mean_ms}, {"median_ms", p.median_ms}, {"p95_ms", p.p95_ms}});
  }
  for (const UtilisationPoint& u : profile.utilisation) {
    out["utilisation"].push_back({{"seconds", u.seconds}, {"utilisation", u.utilisation}});
  }
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Profile profile_from_json(const std::string& text) {
  json in;
  try {
    in = json::parse(text);
  } catch (const json::exception& e) {
    throw Error(ErrorKind::kInput, fmt::format("profile: not JSON: {}", e.what()));
  }
  const std::string top = "top level";
  Profile profile;
  read(in, top, "version", profile.version);
  if (profile.version != kProfileVersion) {
    throw Error(ErrorKind::kInput,
                fmt::format("profile: version {}, this program reads version {}", profile.version, kProfileVersion));
  }
  read(in, top, "wall_ns", profile.wall_ns);
  read(in, top, "samples", profile.samples);
  read(in, top, "batches", profile.batches);
  read(in, top, "loader_threads", profile.loader_threads);
  read(in, top, "prefetch_batches", profile.prefetch_batches);
  read(in, top, "cpu_cores_busy", profile.cpu_cores_busy);
  read_list(in, "stages", profile.stages, [](const json& item, const std::string& where, StageProfile& s) {
    read(item, where, "name", s.name);
    read(item, where, "samples", s.samples);
    read(item, where, "busy_ns", s.busy_ns);
    read(item, where, "bytes", s.bytes);
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
  return profile;
}

}  // namespace unstarve
