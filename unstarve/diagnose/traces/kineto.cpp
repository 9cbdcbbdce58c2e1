#include "unstarve/diagnose/traces/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/traces/activity_names.h"
#include "unstarve/diagnose/traces/operator_work.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

enum class Category { kIgnored, kKernel, kCopy, kMemset, kRuntime, kOperator, kRange, kPython, kOverhead, kInstant };

Category category_of(std::string_view text) {
  struct Named {
    std::string_view text;
    Category category;
  };
  static constexpr Named kNames[] = {{"cpu_op", Category::kOperator},
                                     {"python_function", Category::kPython},
                                     {"cuda_runtime", Category::kRuntime},
                                     {"kernel", Category::kKernel},
                                     {"user_annotation", Category::kRange},
                                     {"gpu_memcpy", Category::kCopy},
                                     {"gpu_memset", Category::kMemset},
                                     {"cuda_driver", Category::kRuntime},
                                     {"overhead", Category::kOverhead},
                                     {"cpu_instant_event", Category::kInstant},
                                     {"xpu_runtime", Category::kRuntime},
                                     {"xpu_driver", Category::kRuntime},
                                     {"mtia_runtime", Category::kRuntime},
                                     {"privateuse1_runtime", Category::kRuntime},
                                     {"privateuse1_driver", Category::kRuntime},
                                     {"Operator", Category::kOperator},
                                     {"Kernel", Category::kKernel},
                                     {"Memcpy", Category::kCopy},
                                     {"Memset", Category::kMemset},
                                     {"Runtime", Category::kRuntime}};
  for (const Named& named : kNames)
    if (named.text == text) return named.category;
  return Category::kIgnored;
}

constexpr std::size_t kShownText = 40;
constexpr std::size_t kMostWork = 4'000'000;  // 96 MB

std::int64_t to_integer(double value) { return std::abs(value) < 9e18 ? static_cast<std::int64_t>(value) : 0; }

// The activity of a name, which is found out once per name.
class CachedActivity {
 public:
  template <class Find>
  std::optional<TraceActivity> operator()(std::uint32_t id, const Find& find) {
    if (id >= known_.size()) known_.resize(id + 1);
    if (!known_[id].first) known_[id] = {true, find()};
    return known_[id].second;
  }

 private:
  std::vector<std::pair<bool, std::optional<TraceActivity>>> known_;
};

// What events of a category and a name do.
class Activities {
 public:
  // Nothing if it does not matter. `id`: of the name.
  std::optional<TraceActivity> of(Category category, const std::string& name, std::uint32_t id) {
    switch (category) {
      case Category::kKernel:
        return kernels_(id, [&]() -> std::optional<TraceActivity> {
          return kernel_traits(name).collective ? TraceActivity::kCollective : TraceActivity::kKernel;
        });
      case Category::kCopy: return TraceActivity::kCopy;
      case Category::kMemset: return TraceActivity::kMemset;
      case Category::kRuntime:
        return calls_(id, [&]() -> std::optional<TraceActivity> { return runtime_activity(name); });
      case Category::kOperator:
        return operators_(id, [&]() -> std::optional<TraceActivity> {
          if (name.starts_with("ProfilerStep#")) return TraceActivity::kStep;
          return range_activity(name) == TraceActivity::kLoader ? TraceActivity::kLoader : TraceActivity::kOperator;
        });
      case Category::kRange:
        return ranges_(id, [&]() -> std::optional<TraceActivity> {
          return name.starts_with("ProfilerStep#") ? TraceActivity::kStep : range_activity(name);
        });
      case Category::kPython: return functions_(id, [&] { return python_activity(name); });
      // Others (lazy loading, full command queues) are of CUDA.
      case Category::kOverhead:
        if (name == "Instrumentation" || name == "Resource" || name.starts_with("TraceActivity Buffer") ||
            name == "Buffer Flush")
          return TraceActivity::kOverhead;
        return std::nullopt;
      default: return std::nullopt;
    }
  }

 private:
  CachedActivity kernels_, calls_, operators_, ranges_, functions_;
};

// Bytes of images that were copied to a device: copies and the operators that started them may be in any order.
class ImageCopies {
 public:
  void add_copy(std::int64_t external, std::int64_t bytes) { copies_.emplace_back(external, bytes); }
  void add_operator(std::int64_t external) { operators_.insert(external); }
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& [external, bytes] : copies_)
      if (operators_.contains(external)) sum += bytes;
    return sum;
  }

 private:
  std::unordered_set<std::int64_t> operators_;                 // their External id
  std::vector<std::pair<std::int64_t, std::int64_t>> copies_;  // External id of the operator, bytes
};

class KinetoReader {
 public:
  KinetoReader(JsonPull& json, TraceEvents& events) : json_(json), events_(events) {}

  // Whether the file has what only Kineto writes.
  bool read() {
    json_.enter('{');
    while (json_.next_key()) {
      if (json_.key() == "traceEvents" && json_.peek() == '[') {
        read_events();
      } else if (json_.key() == "deviceProperties" && json_.peek() == '[') {
        json_.enter('[');
        while (json_.next_element()) read_device();
      } else {
        known_ |= json_.key() == "schemaVersion";
        json_.skip();
      }
    }
    events_.image_bytes += images_.bytes();
    return known_;
  }

 private:
  struct Time {
    std::optional<std::int64_t> ns;
    std::string found{};  // the text that is not a number; empty: the event has none
  };
  struct Args {
    std::int64_t device = -1, bytes = 0, external = -1, reserved = 0, device_type = 0, memory_device = -1;
    OperatorArguments operands;

    // Whether the first argument is float32 in 4 dimensions, as images are.
    [[nodiscard]] bool is_image() const {
      return operands.type == "float" && !operands.shapes.empty() && operands.shapes[0].size() == 4;
    }
  };

  void read_device() {
    json_.enter('{');
    std::int64_t id = -1, memory = 0;
    double major = 0, minor = 0;
    std::string name;
    while (json_.next_key()) {
      const std::string& key = json_.key();
      if (key == "id")
        id = to_integer(json_.number());
      else if (key == "name")
        name = json_.scalar();
      else if (key == "totalGlobalMem")
        memory = to_integer(json_.number());
      else if (key == "computeMajor")
        major = json_.number();
      else if (key == "computeMinor")
        minor = json_.number();
      else
        json_.skip();
    }
    if (DeviceUse* const device = events_.device(id)) {
      device->name = name;
      device->memory_bytes = memory;
      device->compute_capability = major + minor / 10;
    }
  }

  void read_events() {
    json_.enter('[');
    for (std::int64_t number = 0;; ++number) {
      json_.set_record(fmt::format("event {}", number));
      if (!json_.next_element()) break;
      if (json_.peek() == '{')
        read_event(number);
      else
        json_.skip();
    }
    json_.set_record("");
  }

  void read_event(std::int64_t number) {
    char phase = 'X';
    Category category = Category::kIgnored;
    Time begin, length;
    Args args;
    name_.clear();
    pid_.clear();
    tid_.clear();
    json_.enter('{');
    while (json_.next_key()) {
      const std::string& key = json_.key();
      if (key == "ph") {
        const std::string_view text = json_.scalar();
        phase = text.empty() ? ' ' : text[0];
      } else if (key == "cat") {
        category = category_of(json_.scalar());
      } else if (key == "name") {
        name_ = json_.scalar();
      } else if (key == "pid") {
        pid_ = json_.scalar();
      } else if (key == "tid") {
        tid_ = json_.scalar();
      } else if (key == "ts") {
        begin.ns = json_.microseconds_as_ns(begin.found);
      } else if (key == "dur") {
        length.ns = json_.microseconds_as_ns(length.found);
      } else if (key == "args" && json_.peek() == '{' && needs_args(category)) {
        args = read_args();
      } else {
        json_.skip();
      }
    }
    if (category == Category::kIgnored) return;
    known_ = true;
    if (phase == 'X') {
      if (const std::string problem = problem_of(begin, length); !problem.empty())
        events_.reject(fmt::format("event {}: {}", number, problem));
      else
        add(category, *begin.ns, *length.ns, args);
    } else if (category == Category::kInstant && name_ == "[memory]" && args.device_type == 1) {
      note_memory(args);
    }
  }

  // Empty: the times are possible.
  static std::string problem_of(const Time& begin, const Time& length) {
    for (const auto& [key, time] : {std::pair{"ts", &begin}, std::pair{"dur", &length}}) {
      if (time->ns) continue;
      return fmt::format("{}: found {}; expected a number of microseconds", key,
                         time->found.empty() ? "nothing" : '"' + printable(clip(time->found, kShownText)) + '"');
    }
    if (*length.ns >= 0 && *length.ns <= kLongestTrace) return {};
    return fmt::format("dur: found {:.4g} us; expected 0 to {:.4g} us, a day", 1e-3 * static_cast<double>(*length.ns),
                       1e-3 * static_cast<double>(kLongestTrace));
  }

  [[nodiscard]] bool needs_args(Category category) const {
    if (category == Category::kOperator) return name_ == "aten::copy_" || is_matrix_operator(name_);
    return category == Category::kKernel || category == Category::kCopy || category == Category::kMemset ||
           category == Category::kInstant;
  }

  Args read_args() {
    Args args;
    json_.enter('{');
    while (json_.next_key()) {
      const std::string& key = json_.key();
      if (key == "device")
        args.device = to_integer(json_.number());
      else if (key == "bytes")
        args.bytes = to_integer(json_.number());
      else if (key == "External id" || key == "external id")
        args.external = to_integer(json_.number());
      else if (key == "Total Reserved")
        args.reserved = to_integer(json_.number());
      else if (key == "Device Type")
        args.device_type = to_integer(json_.number());
      else if (key == "Device Id")
        args.memory_device = to_integer(json_.number());
      else if (key == "Input Dims" && json_.peek() == '[')
        args.operands.shapes = shapes();
      else if (key == "Input type" && json_.peek() == '[')
        args.operands.type = texts().front();
      else if (key == "Concrete Inputs" && json_.peek() == '[')
        args.operands.values = texts();
      else
        json_.skip();
    }
    return args;
  }

  // [[32, 3, 224, 224], [], ...]; what is not a list of numbers is empty.
  std::vector<TensorShape> shapes() {
    std::vector<TensorShape> shapes;
    json_.enter('[');
    while (json_.next_element()) {
      TensorShape& shape = shapes.emplace_back();
      if (json_.peek() != '[') {
        json_.skip();
        continue;
      }
      json_.enter('[');
      while (json_.next_element())
        shape.push_back(std::clamp<std::int64_t>(to_integer(json_.number()), 0, kLargestSize));
    }
    return shapes;
  }

  // Never empty.
  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    json_.enter('[');
    while (json_.next_element()) texts.emplace_back(json_.scalar());
    if (texts.empty()) texts.emplace_back();
    return texts;
  }

  void note_work(std::int64_t begin, const OperatorArguments& operands) {
    const double operations = operations_of(name_, operands);
    if (operations <= 0 || events_.work.size() >= kMostWork) return;
    events_.work.push_back({begin, operations, operands.type == "c10::BFloat16" || operands.type == "c10::Half",
                            is_aligned(name_, operands, 8)});
  }

  void add(Category category, std::int64_t begin, std::int64_t length, const Args& args) {
    if (begin > kLatestNs) return;
    TraceEvent event;
    event.begin_ns = begin;
    event.end_ns = begin + length;
    event.name = events_.name_id(name_);
    const std::optional<TraceActivity> activity = activities_.of(category, name_, event.name);
    if (!activity) return;
    event.activity = *activity;
    if (category == Category::kKernel || category == Category::kCopy || category == Category::kMemset) {
      std::int64_t device = args.device;
      if (device < 0) std::from_chars(pid_.data(), pid_.data() + pid_.size(), device);  // the pid of such events
      if (events_.device(device) == nullptr) return;
      event.device = static_cast<std::uint8_t>(device);
    }
    if (category == Category::kCopy) {
      const CopyName copy = copy_name(name_);
      event.direction = copy.direction;
      event.host_memory = copy.host_memory;
      event.bytes = static_cast<std::uint64_t>(std::max(args.bytes, std::int64_t{0}));
      if (copy.direction == CopyDirection::kToDevice && args.external >= 0 && args.bytes > kTinyCopyBytes)
        images_.add_copy(args.external, args.bytes);
    }
    if (category == Category::kOperator) note_work(begin, args.operands);
    if (name_ == "aten::copy_" && args.is_image() && args.external >= 0) images_.add_operator(args.external);
    lane_.assign(pid_).append("/").append(tid_);
    event.lane = events_.lane_id(lane_);
    events_.add(event);
  }

  void note_memory(const Args& args) {
    if (DeviceUse* const device = events_.device(args.memory_device))
      device->peak_memory_bytes = std::max(device->peak_memory_bytes, args.reserved);
  }

  JsonPull& json_;
  TraceEvents& events_;
  bool known_ = false;
  std::string name_, pid_, tid_, lane_;
  Activities activities_;
  ImageCopies images_;
};

}  // namespace

void read_kineto(JsonPull& json, const std::string& name, TraceEvents& events) {
  events.format = "Kineto";
  events.framework = Framework::kPyTorch;
  if (KinetoReader(json, events).read()) return;
  throw Error(ErrorKind::kInput, fmt::format("read trace {}: found JSON without events of PyTorch; expected a trace of "
                                             "torch.profiler. For TensorFlow and JAX, pass the file *.xplane.pb.",
                                             name));
}

}  // namespace unstarve
