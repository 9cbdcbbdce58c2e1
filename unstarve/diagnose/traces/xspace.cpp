#include "unstarve/diagnose/traces/xspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/traces/activity_names.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/bytes/wire_reader.h"

namespace unstarve {
namespace {

using enum WireType;
using Bytes = std::span<const std::uint8_t>;
using NamesById = std::unordered_map<std::int64_t, std::string_view>;

struct Stat {
  std::int64_t metadata = 0;
  double number = 0;
  std::int64_t integer = 0;
  std::string_view text;
};

enum class PlaneKind { kHost, kGpu, kTpu, kOther };

PlaneKind kind_of(std::string_view name) {
  for (const std::string_view begin : {"/host:CPU", "/host:CUPTI", "/host:ROCTRACER"})
    if (name.starts_with(begin)) return PlaneKind::kHost;
  if (name.starts_with("/device:GPU")) return PlaneKind::kGpu;
  if (name.starts_with("/device:TPU") && name.find("SparseCore") == std::string_view::npos) return PlaneKind::kTpu;
  return PlaneKind::kOther;
}

int device_of(std::string_view name) {
  int device = 0;
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos) std::from_chars(name.data() + colon + 1, name.data() + name.size(), device);
  return device;
}

// "size:1024" in "kind_src:pageable kind_dst:device size:1024 dest:0 async:1".
std::string_view detail(std::string_view details, std::string_view key) {
  for (std::size_t at = 0; at < details.size();) {
    const std::size_t end = std::min(details.find(' ', at), details.size());
    const std::string_view word = details.substr(at, end - at);
    if (word.starts_with(key) && word.size() > key.size() && word[key.size()] == ':')
      return word.substr(key.size() + 1);
    at = end + 1;
  }
  return {};
}

// "cuLaunchKernel", "cudaMemcpyAsync", "hipFree"; not "custom-call.1".
bool is_call_of_runtime(std::string_view name) {
  for (const std::string_view begin : {"cuda", "cu", "hip"})
    if (name.starts_with(begin) && name.size() > begin.size() && name[begin.size()] >= 'A' && name[begin.size()] <= 'Z')
      return name.find_first_of(" .:") == std::string_view::npos;
  return false;
}

// Operators in which a thread only waits, or that only contain others.
bool is_wrapper(std::string_view name) {
  for (const std::string_view begin : {"Eager",
                                       "TFE_Py",
                                       "FunctionRun",
                                       "KernelAndDevice",
                                       "ProcessFunctionLibrary",
                                       "ExecutorState",
                                       "ExecutorDone",
                                       "Iterator",
                                       "PjitFunction",
                                       "PjRt",
                                       "CommonPjRt",
                                       "TfrtCpu",
                                       "ThunkExecutor",
                                       "ThreadpoolListener",
                                       "ThreadPool",
                                       "ParseArguments",
                                       "XlaModule",
                                       "PyClient",
                                       "Task",
                                       "Wait for",
                                       "end: ",
                                       "$"})
    if (name.starts_with(begin)) return true;
  return false;
}

class XSpaceReader {
 public:
  XSpaceReader(Bytes file, TraceEvents& events) : file_(file), origin_{"XSpace", file.data()}, events_(events) {}

  // The number of planes.
  int read() {
    int planes = 0;
    WireReader space(file_, origin_);
    for (WireField field; space.next(field);) {
      if (field.number != 1 || field.type != kBytes) continue;
      ++planes;
      read_plane(field.bytes);
    }
    add_graph_waits();
    return planes;
  }

 private:
  struct Plane {
    PlaneKind kind = PlaneKind::kOther;
    int device = 0;
    NamesById event_names, stat_names;
  };

  // A wait for the input within a graph, by a thread of TensorFlow.
  struct GraphWait {
    TraceEvent event;
    std::int64_t run = 0;
  };

  // The thread that runs the graph waits, whichever thread gets the input for it.
  void add_graph_waits() {
    for (GraphWait& wait : graph_waits_) {
      if (const auto lane = graph_lanes_.find(wait.run); lane != graph_lanes_.end()) wait.event.lane = lane->second;
      events_.add(wait.event);
    }
  }

  void read_plane(Bytes bytes) {
    Plane plane;
    std::string_view name;
    WireReader first(bytes, origin_);
    for (WireField field; first.next(field);) {
      if (field.type != kBytes) continue;
      if (field.number == 2) name = as_text(field.bytes);
      if (field.number == 4) add_entry(field.bytes, plane.event_names);
      if (field.number == 5) add_entry(field.bytes, plane.stat_names);
    }
    plane.kind = kind_of(name);
    plane.device = device_of(name);
    if (plane.kind == PlaneKind::kOther) return;
    if (plane.kind != PlaneKind::kHost && events_.device(plane.device) == nullptr) return;
    WireReader second(bytes, origin_);
    for (WireField field; second.next(field);) {
      if (field.type != kBytes) continue;
      if (field.number == 3) read_line(field.bytes, plane);
      if (field.number == 6 && plane.kind != PlaneKind::kHost) note_device(field.bytes, plane);
    }
  }

  // An entry of a map: 1 is the id, 2 the metadata, whose field 2 is its name.
  void add_entry(Bytes bytes, NamesById& names) const {
    std::int64_t id = 0;
    std::string_view name;
    WireReader entry(bytes, origin_);
    for (WireField field; entry.next(field);) {
      if (field.number == 1 && field.type == kVarint) id = static_cast<std::int64_t>(field.varint);
      if (field.number != 2 || field.type != kBytes) continue;
      WireReader metadata(field.bytes, origin_);
      for (WireField part; metadata.next(part);)
        if (part.number == 2 && part.type == kBytes) name = as_text(part.bytes);
    }
    names[id] = name;
  }

  [[nodiscard]] static std::string_view name_in(const NamesById& names, std::int64_t id) {
    const auto found = names.find(id);
    return found == names.end() ? std::string_view() : found->second;
  }

  [[nodiscard]] Stat stat_of(Bytes bytes, const Plane& plane) const {
    Stat stat;
    WireReader reader(bytes, origin_);
    for (WireField field; reader.next(field);) {
      switch (field.number) {
        case 1: stat.metadata = static_cast<std::int64_t>(field.varint); break;
        case 2: stat.number = std::bit_cast<double>(field.varint); break;
        case 3:
        case 4:
          stat.integer = static_cast<std::int64_t>(field.varint);
          stat.number = static_cast<double>(stat.integer);
          break;
        case 5:
          if (field.type == kBytes) stat.text = as_text(field.bytes);
          break;
        case 7: stat.text = name_in(plane.stat_names, static_cast<std::int64_t>(field.varint)); break;
        default: break;
      }
    }
    return stat;
  }

  void note_device(Bytes bytes, const Plane& plane) {
    const Stat stat = stat_of(bytes, plane);
    const std::string_view name = name_in(plane.stat_names, stat.metadata);
    DeviceUse& device = *events_.device(plane.device);
    const double number = stat.number >= 0 && stat.number < 1e15 ? stat.number : 0;
    if (name == "compute_cap_major") device.compute_capability += number;
    if (name == "compute_cap_minor") device.compute_capability += number / 10;
    if (name == "memory_size" || name == "total_memory") device.memory_bytes = static_cast<std::int64_t>(number);
    if (name == "device_type_string" || name == "device_name") device.name = stat.text;
  }

  void read_line(Bytes bytes, const Plane& plane) {
    std::int64_t begin_ns = 0;
    std::uint64_t id = 0;
    std::string_view name;
    WireReader first(bytes, origin_);
    for (WireField field; first.next(field);) {
      if (field.number == 1) id = field.varint;
      if (field.number == 2 && field.type == kBytes) name = as_text(field.bytes);
      if (field.number == 3) begin_ns = static_cast<std::int64_t>(field.varint);
    }
    if (begin_ns < -kLatestNs || begin_ns > kLatestNs) return;
    // The other lines of a device repeat these events for groups, modules and steps.
    if (plane.kind == PlaneKind::kGpu && !name.starts_with("Stream")) return;
    if (plane.kind == PlaneKind::kTpu && name != "XLA Ops") return;
    const std::uint32_t lane = events_.lane_id(fmt::format("{}/{}/{}", static_cast<int>(plane.kind), plane.device, id));
    WireReader second(bytes, origin_);
    for (WireField field; second.next(field);)
      if (field.number == 4 && field.type == kBytes) read_event(field.bytes, plane, begin_ns, lane);
  }

  void read_event(Bytes bytes, const Plane& plane, std::int64_t line_begin_ns, std::uint32_t lane) {
    std::int64_t metadata = 0, offset_ps = 0, duration_ps = 0, run = 0;
    bool is_step = false;
    std::string_view copy_details;
    WireReader reader(bytes, origin_);
    for (WireField field; reader.next(field);) {
      if (field.number == 1) metadata = static_cast<std::int64_t>(field.varint);
      if (field.number == 2) offset_ps = static_cast<std::int64_t>(field.varint);
      if (field.number == 3) duration_ps = static_cast<std::int64_t>(field.varint);
      if (field.number != 4 || field.type != kBytes) continue;
      const Stat stat = stat_of(field.bytes, plane);
      const std::string_view name = name_in(plane.stat_names, stat.metadata);
      if (name == "step_num") is_step = true;
      if (name == "id") run = stat.integer;
      if (name == "memcpy_details") copy_details = stat.text;
    }
    TraceEvent event;
    event.begin_ns = line_begin_ns + offset_ps / 1000;
    event.end_ns = event.begin_ns + duration_ps / 1000;
    event.lane = lane;
    event.device = static_cast<std::uint8_t>(plane.device);
    const std::string_view name = name_in(plane.event_names, metadata);
    if (plane.kind == PlaneKind::kHost) {
      const bool is_wait = name.starts_with("IteratorGetNext");
      if (is_wait) events_.framework = Framework::kTensorFlow;
      if (run != 0 && (name.starts_with("FunctionRun") || name.starts_with("SessionRun"))) graph_lanes_[run] = lane;
      if (name.starts_with("PjitFunction") && events_.framework == Framework::kUnknown)
        events_.framework = Framework::kJax;
      const std::optional<TraceActivity> activity = is_step ? TraceActivity::kStep : host_activity(name);
      if (!activity) return;
      event.activity = *activity;
      if (run != 0 && is_wait) {
        event.name = events_.name_id(name);
        graph_waits_.push_back({event, run});
        return;
      }
    } else if (name.starts_with("Memcpy") || !copy_details.empty()) {
      event.activity = TraceActivity::kCopy;
      read_copy(name, copy_details, event);
    } else if (name.starts_with("Memset")) {
      event.activity = TraceActivity::kMemset;
    } else {
      event.activity = kernel_traits(name).collective ? TraceActivity::kCollective : TraceActivity::kKernel;
    }
    event.name = events_.name_id(name);
    events_.add(event);
  }

  static void read_copy(std::string_view name, std::string_view details, TraceEvent& event) {
    event.direction = copy_name(name).direction;
    const std::string_view from = detail(details, "kind_src"), to = detail(details, "kind_dst");
    event.host_memory = memory_kind(event.direction == CopyDirection::kToHost ? to : from);
    const std::string_view size = detail(details, "size");
    std::from_chars(size.data(), size.data() + size.size(), event.bytes);
  }

  static std::optional<TraceActivity> host_activity(std::string_view name) {
    if (is_call_of_runtime(name)) return runtime_activity(name);
    if (const std::optional<TraceActivity> range = range_activity(name)) return range;
    if (name.empty() || is_wrapper(name)) return std::nullopt;
    return TraceActivity::kOperator;
  }

  Bytes file_;
  WireOrigin origin_;
  TraceEvents& events_;
  std::map<std::int64_t, std::uint32_t> graph_lanes_;  // of the threads that run graphs, by the id of the run
  std::vector<GraphWait> graph_waits_;
};

}  // namespace

bool begins_as_xspace(std::span<const std::uint8_t> file) noexcept {
  constexpr std::uint8_t kPlane = 0x0a, kId = 0x08, kName = 0x12;  // tags: number and type
  if (file.size() < 4 || file[0] != kPlane) return false;
  std::size_t at = 1;
  while (at < file.size() && at < 10 && file[at] >= 128) ++at;  // the length
  ++at;
  return at < file.size() && (file[at] == kId || file[at] == kName);
}

void read_xspace(std::span<const std::uint8_t> file, const std::string& name, TraceEvents& events) {
  events.format = "XSpace";
  int planes = 0;
  try {
    planes = XSpaceReader(file, events).read();
  } catch (const Error& error) {
    throw Error(ErrorKind::kInput, fmt::format("read trace {}: {}. If the file is truncated, record the trace again.",
                                               name, error.what()));
  }
  if (planes == 0)
    throw Error(ErrorKind::kInput, fmt::format("read trace {}: found no planes; expected an XSpace", name));
}

}  // namespace unstarve
