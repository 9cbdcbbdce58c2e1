#include "unstarve/diagnose/traces/nsight.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/traces/activity_names.h"

namespace unstarve {
namespace {

constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr const char* kMemsets = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr const char* kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr const char* kRanges = "NVTX_EVENTS";
constexpr const char* kCpuFaults = "CUDA_UM_CPU_PAGE_FAULT_EVENTS";
constexpr const char* kGpuFaults = "CUDA_UM_GPU_PAGE_FAULT_EVENTS";
constexpr std::int64_t kThreadMask = 0xffffff;  // globalTid is globalPid plus the number of the thread

// Of the enumeration CUDA Memcopy Kind.
CopyDirection direction_of(std::int64_t kind) {
  switch (kind) {
    case 1:
    case 3:
    case 11: return CopyDirection::kToDevice;
    case 2:
    case 4:
    case 12: return CopyDirection::kToHost;
    case 5:
    case 6:
    case 7:
    case 8:
    case 10:
    case 13: return CopyDirection::kOnDevice;
    default: return CopyDirection::kUnknown;
  }
}

// Of the enumeration CUDA Memory Operations Memory Kind.
MemoryKind memory_of(std::int64_t kind) {
  switch (kind) {
    case 0: return MemoryKind::kPageable;
    case 1: return MemoryKind::kPinned;
    case 2:
    case 3:
    case 5: return MemoryKind::kDevice;
    case 4:
    case 6: return MemoryKind::kManaged;
    default: return MemoryKind::kUnknown;
  }
}

class NsightReader {
 public:
  NsightReader(const SqliteFile& file, TraceEvents& events) : file_(file), events_(events) {
    if (file_.has_table("StringIds")) strings_.emplace(file_.query("SELECT value FROM StringIds WHERE id = ?1"));
  }

  void read() {
    choose_process();
    read_devices();
    read_kernels();
    read_unnamed(kGraphs, "CUDA graph", TraceActivity::kKernel);  // written instead of their kernels
    read_copies();
    read_unnamed(kMemsets, "Memset", TraceActivity::kMemset);
    read_calls();
    read_ranges();
    read_faults(kCpuFaults, UnifiedEvent::Kind::kCpuFault);
    read_faults(kGpuFaults, UnifiedEvent::Kind::kGpuFault);
  }

 private:
  struct Name {
    std::uint32_t id = 0;
    std::string text;
  };

  // The text of StringIds; each is read once.
  const Name& string(std::int64_t id) {
    const auto [entry, added] = names_.try_emplace(id);
    if (!added) return entry->second;
    if (strings_) {
      strings_->restart(id);
      if (strings_->next()) entry->second.text = strings_->text(0);
    }
    entry->second.id = events_.name_id(entry->second.text);
    return entry->second;
  }

  // "start", "end" and the columns of this list, or NULL for those that the table lacks, apart from "start".
  SqliteFile::Rows rows_of(const char* table, std::initializer_list<const char*> columns) {
    std::string sql = file_.has_column(table, "end") ? "SELECT start, \"end\"" : "SELECT start, NULL";
    for (const char* column : columns) sql += file_.has_column(table, column) ? fmt::format(", {}", column) : ", NULL";
    sql += fmt::format(" FROM {}", table);
    if (process_ && file_.has_column(table, "globalPid"))
      sql += fmt::format(" WHERE globalPid = {}", *process_);
    else if (process_ && file_.has_column(table, "globalTid"))
      sql += fmt::format(" WHERE globalTid - (globalTid & {}) = {}", kThreadMask, *process_);
    return file_.query(sql);
  }

  void choose_process() {
    if (!file_.has_table(kKernels) || !file_.has_column(kKernels, "globalPid")) return;
    SqliteFile::Rows rows =
        file_.query(fmt::format("SELECT globalPid FROM {} WHERE globalPid IS NOT NULL GROUP BY globalPid "
                                "ORDER BY COUNT(*) DESC LIMIT 1",
                                kKernels));
    if (rows.next()) process_ = rows.integer(0);
  }

  void read_devices() {
    constexpr const char* kGpus = "TARGET_INFO_GPU";
    constexpr const char* kCudaDevices = "TARGET_INFO_CUDA_DEVICE";
    if (!file_.has_table(kGpus)) return;
    std::map<std::int64_t, std::int64_t> numbers;  // id of the GPU -> device of CUDA
    if (file_.has_table(kCudaDevices) && file_.has_column(kCudaDevices, "gpuId")) {
      SqliteFile::Rows rows = file_.query(fmt::format("SELECT gpuId, cudaId FROM {}", kCudaDevices));
      while (rows.next()) numbers[rows.integer(0)] = rows.integer(1);
    }
    std::string sql = "SELECT id";
    for (const char* column : {"name", "totalMemory", "computeMajor", "computeMinor"})
      sql += file_.has_column(kGpus, column) ? fmt::format(", {}", column) : ", NULL";
    SqliteFile::Rows rows = file_.query(sql + " FROM " + kGpus);
    while (rows.next()) {
      const auto number = numbers.find(rows.integer(0));
      DeviceUse* const device = events_.device(number == numbers.end() ? rows.integer(0) : number->second);
      if (device == nullptr) continue;
      device->name = rows.text(1);
      device->memory_bytes = std::max(rows.integer(2), std::int64_t{0});
      device->compute_capability = static_cast<double>(rows.integer(3)) + static_cast<double>(rows.integer(4)) / 10;
    }
  }

  // Times, device and stream of the current row; the device is in column 2, the stream in column 3.
  std::optional<TraceEvent> device_event(const SqliteFile::Rows& rows) {
    TraceEvent event;
    event.begin_ns = rows.integer(0);
    event.end_ns = rows.integer(1);
    if (rows.is_null(1) || events_.device(rows.integer(2)) == nullptr) return std::nullopt;
    event.device = static_cast<std::uint8_t>(rows.integer(2));
    event.lane = events_.lane_id(fmt::format("stream {}/{}", rows.integer(2), rows.integer(3)));
    return event;
  }

  void read_kernels() {
    if (!file_.has_table(kKernels)) return;
    SqliteFile::Rows rows = rows_of(kKernels, {"deviceId", "streamId", "demangledName", "shortName"});
    std::unordered_map<std::int64_t, TraceActivity> activities;
    while (rows.next()) {
      std::optional<TraceEvent> event = device_event(rows);
      if (!event) continue;
      const std::int64_t id = rows.integer(rows.is_null(4) ? 5 : 4);
      const Name& name = string(id);
      const auto [activity, added] = activities.try_emplace(id);
      if (added) {
        activity->second = kernel_traits(name.text).collective ? TraceActivity::kCollective : TraceActivity::kKernel;
        if (name.text.find("at::native") != std::string::npos) events_.framework = Framework::kPyTorch;
        if (name.text.find("tensorflow::") != std::string::npos) events_.framework = Framework::kTensorFlow;
      }
      event->activity = activity->second;
      event->name = name.id;
      events_.add(*event);
    }
  }

  // A table whose events have no name of their own.
  void read_unnamed(const char* table, const char* shown, TraceActivity activity) {
    if (!file_.has_table(table)) return;
    SqliteFile::Rows rows = rows_of(table, {"deviceId", "streamId"});
    const std::uint32_t name = events_.name_id(shown);
    while (rows.next()) {
      std::optional<TraceEvent> event = device_event(rows);
      if (!event) continue;
      event->activity = activity;
      event->name = name;
      events_.add(*event);
    }
  }

  void read_copies() {
    if (!file_.has_table(kCopies)) return;
    SqliteFile::Rows rows = rows_of(kCopies, {"deviceId", "streamId", "bytes", "copyKind", "srcKind", "dstKind"});
    const std::uint32_t name = events_.name_id("Memcpy");
    while (rows.next()) {
      std::optional<TraceEvent> event = device_event(rows);
      if (!event) continue;
      event->activity = TraceActivity::kCopy;
      event->name = name;
      event->bytes = static_cast<std::uint64_t>(std::clamp(rows.integer(4), std::int64_t{0}, std::int64_t{1} << 48));
      event->direction = direction_of(rows.integer(5));
      const int host = event->direction == CopyDirection::kToHost ? 7 : 6;
      event->host_memory = rows.is_null(host) ? MemoryKind::kUnknown : memory_of(rows.integer(host));
      events_.add(*event);
    }
  }

  std::uint32_t thread_lane(std::int64_t global_tid) { return events_.lane_id(fmt::format("thread {}", global_tid)); }

  void read_calls() {
    if (!file_.has_table(kCalls)) return;
    SqliteFile::Rows rows = rows_of(kCalls, {"globalTid", "nameId"});
    std::unordered_map<std::int64_t, TraceActivity> activities;
    while (rows.next()) {
      if (rows.is_null(1)) continue;
      const Name& name = string(rows.integer(3));
      const auto [activity, added] = activities.try_emplace(rows.integer(3));
      if (added) activity->second = runtime_activity(name.text);
      TraceEvent event;
      event.begin_ns = rows.integer(0);
      event.end_ns = rows.integer(1);
      event.activity = activity->second;
      event.name = name.id;
      event.lane = thread_lane(rows.integer(2));
      events_.add(event);
    }
  }

  void read_ranges() {
    if (!file_.has_table(kRanges)) return;
    constexpr std::int64_t kPushPop = 59, kStartEnd = 60;
    SqliteFile::Rows rows = rows_of(kRanges, {"globalTid", "text", "textId", "eventType"});
    while (rows.next()) {
      const std::int64_t type = rows.integer(5);
      if (rows.is_null(1) || (!rows.is_null(5) && type != kPushPop && type != kStartEnd)) continue;
      std::string name(rows.text(3));
      if (name.empty() && !rows.is_null(4)) name = string(rows.integer(4)).text;
      const std::optional<TraceActivity> activity = range_activity(name);
      if (!activity) continue;
      TraceEvent event;
      event.begin_ns = rows.integer(0);
      event.end_ns = rows.integer(1);
      event.activity = *activity;
      event.name = events_.name_id(name);
      event.lane = thread_lane(rows.integer(2));
      events_.add(event);
    }
  }

  // Of unified memory. Faults of the CPU have no end.
  void read_faults(const char* table, UnifiedEvent::Kind kind) {
    if (!file_.has_table(table)) return;
    SqliteFile::Rows rows = rows_of(table, {"numberOfPageFaults"});
    while (rows.next()) {
      UnifiedEvent event;
      event.begin_ns = rows.integer(0);
      event.end_ns = rows.is_null(1) ? event.begin_ns : rows.integer(1);
      event.count = rows.is_null(2) ? 1 : rows.integer(2);
      event.kind = kind;
      events_.add(event);
    }
  }

  const SqliteFile& file_;
  TraceEvents& events_;
  std::optional<SqliteFile::Rows> strings_;
  std::unordered_map<std::int64_t, Name> names_;
  std::optional<std::int64_t> process_;  // its globalPid
};

}  // namespace

bool begins_as_sqlite(std::span<const std::uint8_t> file) noexcept {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return file.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), file.begin());
}

void read_nsight(const SqliteFile& file, const std::string& name, TraceEvents& events) {
  events.format = "Nsight Systems";
  if (!file.has_table(kKernels) && !file.has_table(kCalls) && !file.has_table(kRanges)) {
    throw Error(
        ErrorKind::kInput,
        fmt::format("read trace {}: found an SQLite database without {}, {} and {}; expected an export of Nsight "
                    "Systems: nsys export --type sqlite REPORT.nsys-rep",
                    name, kKernels, kCalls, kRanges));
  }
  for (const char* const table : {kKernels, kCopies, kMemsets, kCalls, kRanges}) {
    for (const char* const column : {"start", "end", "deviceId"}) {
      const bool host = table == kCalls || table == kRanges;
      if (!file.has_table(table) || file.has_column(table, column) || (host && std::string_view(column) == "deviceId"))
        continue;
      throw Error(ErrorKind::kInput,
                  fmt::format("read trace {}: table {}: found no column \"{}\"; expected an export of Nsight Systems: "
                              "nsys export --type sqlite REPORT.nsys-rep",
                              name, table, column));
    }
  }
  NsightReader(file, events).read();
}

}  // namespace unstarve
