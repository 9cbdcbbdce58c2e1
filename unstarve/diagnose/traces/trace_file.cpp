#include "unstarve/diagnose/traces/trace_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/diagnose/profile/json_problem.h"
#include "unstarve/diagnose/traces/kineto.h"
#include "unstarve/diagnose/traces/nsight.h"
#include "unstarve/diagnose/traces/reduce.h"
#include "unstarve/diagnose/traces/trace_bytes.h"
#include "unstarve/diagnose/traces/xspace.h"

namespace unstarve {
namespace {

constexpr std::size_t kLargestProfile = std::size_t{256} << 20;  // bytes of JSON that `watch` writes

JsonPull json_of(TraceBytes& bytes) {
  bytes.rewind();
  return JsonPull([&bytes] { return bytes.next(); }, bytes.name());
}

// Whether the object has the members of `watch`, or of its profile alone. Reads up to the first one that is known.
bool is_of_watch(TraceBytes& bytes) {
  JsonPull json = json_of(bytes);
  json.enter('{');
  while (json.next_key()) {
    if (json.key() == "traceEvents") return false;
    if (json.key() == "profile" || json.key() == "processes") return true;
    json.skip();
  }
  throw Error(
      ErrorKind::kInput,
      fmt::format("read trace {}: found JSON without \"traceEvents\"; expected a trace of torch.profiler, or the "
                  "output of unstarve watch --out",
                  bytes.name()));
}

Error not_whole(const std::string& name, const std::string& found) {
  return {ErrorKind::kInput,
          fmt::format("read {}: found {}; expected the whole output of unstarve watch --out", name, found)};
}

RunProfile read_watch(TraceBytes& bytes) {
  bytes.rewind();
  std::string text;
  for (std::span<const std::uint8_t> piece = bytes.next(); !piece.empty(); piece = bytes.next()) {
    if (text.size() + piece.size() > kLargestProfile) {
      throw Error(ErrorKind::kInput, fmt::format("read {}: found more than {} bytes; expected the output of unstarve "
                                                 "watch --out",
                                                 bytes.name(), kLargestProfile));
    }
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  std::string profile;
  try {
    const nlohmann::json json = parse_json(text);
    const nlohmann::json& part = json.contains("profile") ? json.at("profile") : json;
    profile = json_text(part);
  } catch (const nlohmann::json::parse_error& error) {
    if (error.byte <= text.size()) throw not_whole(bytes.name(), json_problem(error.what()));
    throw not_whole(bytes.name(), fmt::format("JSON that ends after {} bytes, before it is complete", text.size()));
  } catch (const nlohmann::json::exception& error) {
    throw not_whole(bytes.name(), json_problem(error.what()));
  }
  return run_profile_from_json(profile, bytes.name());
}

char first_character(TraceBytes& bytes) { return json_of(bytes).peek(); }

}  // namespace

RunProfile read_trace(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw Error(ErrorKind::kInput,
                fmt::format("read trace {}: found a folder; expected a file. Pass one of its files.", path));
  }
  TraceBytes bytes(path);
  TraceEvents events;
  if (bytes.stored().empty())
    throw Error(ErrorKind::kInput, fmt::format("read trace {}: the file is empty; expected a trace", path));
  if (begins_as_sqlite(bytes.stored())) {
    read_nsight(SqliteFile(path), path, events);
  } else if (begins_as_xspace(bytes.stored())) {
    read_xspace(bytes.stored(), path, events);
  } else if (first_character(bytes) == '{') {
    if (is_of_watch(bytes)) return read_watch(bytes);
    JsonPull json = json_of(bytes);
    read_kineto(json, path, events);
  } else if (first_character(bytes) == '[') {
    throw Error(ErrorKind::kInput,
                fmt::format("read trace {}: found a JSON array; expected an object: a trace of torch.profiler with "
                            "\"traceEvents\", or the output of unstarve watch --out",
                            path));
  } else {
    throw Error(
        ErrorKind::kInput,
        fmt::format(
            "read trace {}: found an unknown format; expected JSON of torch.profiler (also .gz), "
            "*.xplane.pb of TensorFlow or JAX, SQLite of Nsight Systems (nsys export --type sqlite REPORT.nsys-rep), "
            "or the output of unstarve watch --out",
            path));
  }
  check_map(bytes.stored());
  events.reject_outliers();
  RunProfile profile;
  profile.trace = reduce_trace(events);
  if (profile.trace->events == 0 && profile.trace->left_out == 0) {
    if (events.malformed.count > 0) {
      throw Error(ErrorKind::kInput, fmt::format("read trace {}: all {} events are malformed; {}", path,
                                                 events.malformed.count, events.malformed.examples.at(0)));
    }
    throw Error(ErrorKind::kInput,
                fmt::format("read trace {}: found no operators, kernels or ranges; expected events of a training "
                            "program. Record some steps between start and stop of the profiler.",
                            path));
  }
  return profile;
}

}  // namespace unstarve
