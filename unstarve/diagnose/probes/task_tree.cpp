#include "unstarve/diagnose/probes/task_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

constexpr std::size_t kEndedProcesses = 200;
constexpr std::size_t kNames = 64;
constexpr std::size_t kShownCommand = 200;  // characters
constexpr double kNamed = 10;               // seconds in which libraries name their threads
constexpr std::size_t kLargestFile = 1 << 16;
constexpr const char* kOtherNames = "others";

// "pt_autograd_12" -> "pt_autograd", "Thread-3 (run)" -> "Thread"
std::string group_of(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789", kSeparators = "-_/:# ";
  std::size_t end = name.size();
  for (std::size_t i = 1; i < name.size(); ++i) {
    if (kDigits.find(name[i]) == std::string_view::npos || kSeparators.find(name[i - 1]) == std::string_view::npos)
      continue;
    end = i - 1;
    break;
  }
  const std::string_view words = name.substr(0, end);
  const std::size_t last = words.find_last_not_of(end < name.size() ? kSeparators : kDigits);
  return printable(last == std::string_view::npos ? name : words.substr(0, last + 1));
}

std::string shown(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  if (text.size() > kShownCommand) text = text.substr(0, kShownCommand) + "...";
  return printable(text);
}

// The entry of `name`, or of all further names if there are too many.
template <class Value>
Value& entry_of(std::map<std::string, Value>& entries, const std::string& name) {
  const bool full = entries.size() >= kNames && !entries.contains(name);
  Value& entry = entries[full ? kOtherNames : name];
  if (entry.name.empty()) entry.name = full ? kOtherNames : name;
  return entry;
}

// What a thread has used between two times.
ThreadUse use_of(const std::string& name, const RunTimes& first, const RunTimes& last, const ThreadWaits& waits) {
  return {name, 1, 1e-9 * static_cast<double>(last.running_ns - first.running_ns),
          1e-9 * static_cast<double>(last.waiting_ns - first.waiting_ns), waits};
}

void set_busiest(ProcessUse& process, const ThreadLife& thread) {
  if (thread.cpu_s < process.busiest_thread_s) return;
  process.busiest_thread_s = thread.cpu_s;
  process.busiest_thread_begin_s = thread.begin_s;
}

// Adds times.
void add_use(ThreadUse& sum, const ThreadUse& use) {
  sum.cpu_s += use.cpu_s;
  sum.run_delay_s += use.run_delay_s;
  add_waits(sum.waits, use.waits, 1);
}

}  // namespace

TaskTree::TaskTree(int root, TaskTreeOptions options)
    : options_(std::move(options)), root_(root), boot_s_(since_boot_s()) {
  buffer_.resize(kLargestFile);
  if (const auto stat = stat_of(root)) add(root, *stat, 0);
}

// Valid until the next call.
std::string_view TaskTree::read(const std::string& path) const {
  const FileDescriptor file(::open((options_.proc / path).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return {};
  const ssize_t size = ::read(file.get(), buffer_.data(), buffer_.size());
  return {buffer_.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

std::optional<TaskStat> TaskTree::stat_of(int pid) const {
  return parse_task_stat(read(std::to_string(pid) + "/stat"));
}

void TaskTree::add(int pid, const TaskStat& stat, double seconds) {
  Process process;
  process.use.pid = pid;
  process.use.parent = stat.parent;
  process.start_ticks = stat.start_ticks;
  const double started_s = static_cast<double>(stat.start_ticks) / ticks_per_s() - boot_s_;
  process.use.begin_s = std::clamp(started_s, 0.0, seconds);
  process.use.end_s = seconds;
  if (first_find_) {  // it was running before: only what it uses from now on counts
    process.first = stat;
    if (const auto io = parse_io_counts(read(std::to_string(pid) + "/io"))) process.first_io = process.last_io = *io;
  }
  process.last = stat;
  Process& added = alive_.insert_or_assign(pid, std::move(process)).first->second;
  read_names_and_locks(added);
  look_at(added, seconds);
}

// What rarely changes. A process has the name and the arguments of its parent until it executes its own program.
void TaskTree::read_names_and_locks(Process& process) const {
  process.use.name = printable(process.last.name);
  std::string command = shown(parse_command_line(read(std::to_string(process.use.pid) + "/cmdline")));
  if (!command.empty()) process.use.command = std::move(command);  // a zombie has none
  const StatusMemory memory = parse_status_memory(read(std::to_string(process.use.pid) + "/status"));
  process.use.locked_bytes = std::max(process.use.locked_bytes, memory.locked_bytes);
  process.use.pinned_bytes = std::max(process.use.pinned_bytes, memory.pinned_bytes);
  process.use.anonymous_bytes = memory.anonymous_bytes.value_or(-1);
  // The list of a large program takes a millisecond: it is read again after twice the CPU time.
  if (process.use.has_openmp || process.last.threads < 2 || process.last.cpu_ticks < process.maps_ticks) return;
  process.use.has_openmp = loads_openmp(process.use.pid);
  process.maps_ticks = 2 * std::max(process.last.cpu_ticks, static_cast<std::int64_t>(ticks_per_s()));
}

bool TaskTree::loads_openmp(int pid) const {
  constexpr std::array<std::string_view, 4> kNames{"/libgomp", "/libiomp", "/libomp", "openblas"};
  constexpr std::size_t kKept = 16;  // of the end of a part: a name may continue in the next one
  const FileDescriptor file(::open((options_.proc / std::to_string(pid) / "maps").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return false;
  std::size_t kept = 0;
  for (ssize_t size = 0; (size = ::read(file.get(), buffer_.data() + kept, buffer_.size() - kept)) > 0;) {
    const std::string_view part(buffer_.data(), kept + static_cast<std::size_t>(size));
    if (std::ranges::any_of(kNames, [&](std::string_view name) { return part.find(name) != std::string_view::npos; }))
      return true;
    kept = std::min(kKept, part.size());
    std::memmove(buffer_.data(), part.data() + part.size() - kept, kept);
  }
  return false;
}

void TaskTree::find(double seconds, int ignored) {
  std::map<int, TaskStat> others;
  for (const int pid : numbers_in(options_.proc)) {
    if (const auto known = alive_.find(pid); known != alive_.end()) {
      read_names_and_locks(known->second);
      continue;
    }
    if (pid == options_.adopter || pid == options_.guard || pid == ignored) continue;
    const auto stat = stat_of(pid);
    if (stat && stat->state != 'Z' && stat->state != 'X') others.emplace(pid, *stat);
  }
  for (bool found = true; found;) {  // children of new processes
    found = false;
    for (auto other = others.begin(); other != others.end();) {
      const int parent = other->second.parent;
      if (!alive_.contains(parent) && (parent != options_.adopter || parent == 0)) {
        ++other;
        continue;
      }
      add(other->first, other->second, seconds);
      other = others.erase(other);
      found = true;
    }
  }
  first_find_ = false;
}

void TaskTree::look(double seconds) {
  for (auto entry = alive_.begin(); entry != alive_.end();) {
    Process& process = entry->second;
    const std::optional<TaskStat> stat = stat_of(entry->first);
    const bool same = stat && stat->start_ticks == process.start_ticks;
    if (same) process.last = *stat;  // a zombie has its final times
    if (same && stat->state != 'Z' && stat->state != 'X') {
      look_at(process, seconds);
      ++entry;
      continue;
    }
    if (same) process.use.end_s = seconds;
    end(process);
    entry = alive_.erase(entry);
  }
}

void TaskTree::look_at(Process& process, double seconds) {
  process.use.end_s = seconds;
  process.use.resident_bytes = process.last.resident_pages * ::sysconf(_SC_PAGESIZE);
  process.use.peak_resident_bytes = std::max(process.use.peak_resident_bytes, process.use.resident_bytes);
  if (const auto io = parse_io_counts(read(std::to_string(process.use.pid) + "/io"))) {
    process.last_io = *io;
    process.use.has_io = true;
  }
  look_at_threads(process, seconds);
}

void TaskTree::look_at_threads(Process& process, double seconds) {
  const std::string folder = std::to_string(process.use.pid) + "/task";
  for (auto& [id, thread] : process.threads) thread.seen = false;
  for (const int id : numbers_in(options_.proc / folder)) {
    const std::string task = folder + "/" + std::to_string(id);
    const auto [entry, is_new] = process.threads.try_emplace(id);
    Thread& thread = entry->second;
    // Some kernels have no such file: then only the time of the process is known. A thread that has ended since the
    // list was read keeps its times.
    const RunTimes times = parse_run_times(read(task + "/schedstat")).value_or(thread.last);
    if (is_new) thread.begin_s = thread.last_s = seconds;
    if (is_new && first_find_) thread.first = times;
    // A thread that has not run since the last look is still in the same system call.
    const bool has_run = is_new || times.running_ns != thread.last.running_ns;
    if (id == process.use.pid && (has_run || times.running_ns == 0)) {  // 0: no schedstat
      const std::optional<TaskStat> stat = parse_task_stat(read(task + "/stat"));
      process.last_system_ticks = stat ? stat->system_ticks : process.last_system_ticks;
      if (is_new && first_find_) process.first_system_ticks = process.last_system_ticks;
    }
    if (has_run) look_at_call(process, thread, task);
    add_wait(thread.waits, thread.wait, seconds - thread.last_s);
    thread.last_s = seconds;
    if (is_new || seconds - thread.begin_s < kNamed) {
      std::string_view name = read(task + "/comm");
      if (name.ends_with('\n')) name.remove_suffix(1);
      if (!name.empty()) thread.group = group_of(name);
    }
    thread.last = times;
    thread.seen = true;
  }
  for (auto entry = process.threads.begin(); entry != process.threads.end();) {
    if (entry->second.seen) {
      ++entry;
      continue;
    }
    end_thread(process, entry->first, entry->second);
    entry = process.threads.erase(entry);
  }
  count_threads(process);
}

void TaskTree::look_at_call(Process& process, Thread& thread, const std::string& task) const {
  thread.wait = Wait::kNone;
  const std::optional<SystemCall> call = parse_system_call(read(task + "/syscall"));
  if (!call) return;
  std::string target;
  std::filesystem::path link;
  if (has_descriptor(*call)) {
    link = options_.proc / std::to_string(process.use.pid) / "fd" / std::to_string(call->argument);
    target = thread.target.read(link);
  }
  thread.wait = wait_of(*call, target);
  struct stat file {};
  if (thread.wait != Wait::kFile || !is_read(*call) || ::stat(link.c_str(), &file) != 0 || !S_ISREG(file.st_mode))
    return;
  FileSamples& samples = process.use.file_samples;
  ++samples.samples;
  if (const FileId id{file.st_dev, file.st_ino}; id != thread.file) {
    thread.file = id;
    ++samples.changed;
  }
  if (file.st_size > kSmallFileBytes) return;
  ++samples.small;
  samples.small_bytes += file.st_size;
}

// A process has most threads before it ends.
void TaskTree::count_threads(Process& process) {
  if (process.counted == process.threads.size()) return;
  process.counted = process.threads.size();
  std::map<std::string, int> counts;
  for (const auto& [id, thread] : process.threads) ++counts[thread.group];
  for (const auto& [name, count] : counts) {
    ThreadUse& group = entry_of(process.ended, name);
    group.threads = std::max(group.threads, count);
  }
}

void TaskTree::end_thread(Process& process, int id, const Thread& thread) {
  ThreadUse& group = entry_of(process.ended, thread.group);
  const ThreadUse use = use_of(thread.group, thread.first, thread.last, thread.waits);
  add_use(group, use);
  group.threads = std::max(group.threads, 1);
  const ThreadLife life{thread.begin_s, use.cpu_s};
  if (life.cpu_s >= process.use.busiest_thread_s) process.use.lives = {{id, life}};
  set_busiest(process.use, life);
  if (id == process.use.pid) process.ended_main_thread = use;
}

ProcessUse TaskTree::summary(const Process& process) {
  ProcessUse use = process.use;
  use.cpu_s = static_cast<double>(process.last.cpu_ticks - process.first.cpu_ticks) / ticks_per_s();
  use.ended_children_s = static_cast<double>(process.last.ended_ticks - process.first.ended_ticks) / ticks_per_s();
  use.main_system_s = static_cast<double>(process.last_system_ticks - process.first_system_ticks) / ticks_per_s();
  use.minor_faults = process.last.minor_faults - process.first.minor_faults;
  use.major_faults = process.last.major_faults - process.first.major_faults;
  use.read_calls = process.last_io.read_calls - process.first_io.read_calls;
  use.read_bytes = process.last_io.read_bytes - process.first_io.read_bytes;
  use.storage_bytes = process.last_io.storage_bytes - process.first_io.storage_bytes;
  use.written_bytes = process.last_io.written_bytes - process.first_io.written_bytes;
  std::map<std::string, ThreadUse> groups = process.ended;
  use.main_thread = process.ended_main_thread;
  std::map<std::string, int> alive;
  for (const auto& [id, thread] : process.threads) {
    ThreadUse& group = entry_of(groups, thread.group);
    const ThreadUse one = use_of(thread.group, thread.first, thread.last, thread.waits);
    add_use(group, one);
    group.threads = std::max(group.threads, ++alive[group.name]);
    set_busiest(use, use.lives[id] = {thread.begin_s, one.cpu_s});
    if (id == process.use.pid) use.main_thread = one;
  }
  for (auto& [name, group] : groups) {
    use.run_delay_s += group.run_delay_s;
    use.threads.push_back(std::move(group));
  }
  std::ranges::sort(use.threads, [](const ThreadUse& a, const ThreadUse& b) { return a.cpu_s > b.cpu_s; });
  return use;
}

void TaskTree::end(const Process& process) {
  ended_.push_back(summary(process));
  ended_.back().ended = true;
  if (ended_.size() <= kEndedProcesses) return;
  const auto least =
      std::ranges::min_element(ended_, [](const ProcessUse& a, const ProcessUse& b) { return a.cpu_s < b.cpu_s; });
  ProcessUse& sum = entry_of(merged_, least->name);
  sum.ended = true;
  sum.command = sum.name + ", several processes";
  sum.cpu_s += least->cpu_s;
  sum.run_delay_s += least->run_delay_s;
  sum.minor_faults += least->minor_faults;
  sum.major_faults += least->major_faults;
  sum.peak_resident_bytes = std::max(sum.peak_resident_bytes, least->peak_resident_bytes);
  sum.locked_bytes = std::max(sum.locked_bytes, least->locked_bytes);
  sum.pinned_bytes = std::max(sum.pinned_bytes, least->pinned_bytes);
  sum.has_io = sum.has_io || least->has_io;
  sum.read_calls += least->read_calls;
  sum.read_bytes += least->read_bytes;
  sum.storage_bytes += least->storage_bytes;
  sum.written_bytes += least->written_bytes;
  add_use(sum.main_thread, least->main_thread);
  add_file_samples(sum.file_samples, least->file_samples);
  sum.end_s = std::max(sum.end_s, least->end_s);
  ended_.erase(least);
}

std::vector<ProcessUse> TaskTree::use() const {
  std::vector<ProcessUse> result = ended_;
  for (const auto& [name, use] : merged_) result.push_back(use);
  for (const auto& [pid, process] : alive_) result.push_back(summary(process));
  std::ranges::sort(result, [](const ProcessUse& a, const ProcessUse& b) { return a.cpu_s > b.cpu_s; });
  return result;
}

}  // namespace unstarve
