#include "unstarve/diagnose/probes/proc_text.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "unstarve/observe/kernel_files.h"

namespace unstarve {
namespace {

constexpr std::string_view kBlanks = " \t\n";

// Removes the first word of `text` and returns it; "" at the end.
std::string_view take_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

// Larger ones do not occur, and their sums could overflow.
constexpr std::int64_t kLargest = std::int64_t{1} << 52;

std::optional<std::int64_t> number(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value >= -kLargest && value <= kLargest ? std::optional(value) : std::nullopt;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// The number after the word `key` at the beginning of a line.
std::optional<std::int64_t> value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_word(line) == key) return number(take_word(line));
  }
  return std::nullopt;
}

// "0x7f6d5c0a1b20"
std::optional<std::uint64_t> take_argument(std::string_view& text) {
  std::string_view word = take_word(text);
  if (!word.starts_with("0x")) return std::nullopt;
  word.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<int> numbers_in(const std::filesystem::path& folder) {
  std::vector<int> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int number = 0;
    const auto [last, status] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (status == std::errc() && last == name.data() + name.size() && number > 0) numbers.push_back(number);
  }
  return numbers;
}

std::string_view read_again(const FileDescriptor& file, std::span<char> buffer) {
  if (!file.valid()) return {};
  const ssize_t size = ::pread(file.get(), buffer.data(), buffer.size(), 0);
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

double ticks_per_s() { return static_cast<double>(::sysconf(_SC_CLK_TCK)); }

double since_boot_s() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::optional<TaskStat> parse_task_stat(std::string_view text) {
  // The name is in parentheses and may contain both blanks and parentheses.
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  TaskStat stat;
  stat.name = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  const std::string_view state = take_word(text);
  if (state.size() != 1) return std::nullopt;
  stat.state = state[0];
  std::int64_t fields[21];  // fields 4 to 24 of proc(5)
  for (std::int64_t& field : fields) {
    const std::optional<std::int64_t> value = number(take_word(text));
    if (!value) return std::nullopt;
    field = *value;
  }
  stat.parent = static_cast<int>(fields[0]);
  stat.minor_faults = fields[6];
  stat.major_faults = fields[8];
  stat.cpu_ticks = fields[10] + fields[11];
  stat.system_ticks = fields[11];
  stat.ended_ticks = fields[12] + fields[13];
  stat.threads = static_cast<int>(fields[16]);
  stat.start_ticks = fields[18];
  stat.resident_pages = fields[20];
  return stat;
}

std::optional<RunTimes> parse_run_times(std::string_view text) {
  const std::optional<std::int64_t> running = number(take_word(text)), waiting = number(take_word(text));
  if (!running || !waiting) return std::nullopt;
  return RunTimes{*running, *waiting};
}

std::optional<std::int64_t> parse_voluntary_switches(std::string_view text) {
  return value_of(text, "voluntary_ctxt_switches:");
}

std::optional<SystemCall> parse_system_call(std::string_view text) {
  const std::string_view word = take_word(text);
  if (word == "running") return SystemCall{};
  const std::optional<std::int64_t> call = number(word);
  if (!call || *call < SystemCall::kNone) return std::nullopt;
  const std::optional<std::uint64_t> first = take_argument(text), second = take_argument(text);
  if (!first || !second) return std::nullopt;
  return SystemCall{*call, *first, *second};
}

std::optional<IoCounts> parse_io_counts(std::string_view text) {
  const auto bytes = value_of(text, "rchar:"), calls = value_of(text, "syscr:");
  const auto from_storage = value_of(text, "read_bytes:"), written = value_of(text, "write_bytes:");
  if (!bytes || !calls || !from_storage || !written) return std::nullopt;
  return IoCounts{*calls, *bytes, *from_storage, *written};
}

std::optional<std::int64_t> parse_pressure_us(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_word(line) != "some") continue;
    constexpr std::string_view kKey = "total=";
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line))
      if (word.starts_with(kKey)) return number(word.substr(kKey.size()));
  }
  return std::nullopt;
}

std::optional<std::map<int, CpuTicks>> parse_cpu_ticks(std::string_view text, const std::set<int>& cpus) {
  std::map<int, CpuTicks> ticks;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::string_view name = take_word(line);
    if (!name.starts_with("cpu") || name.size() == 3) continue;
    const std::optional<std::int64_t> cpu = number(name.substr(3));
    if (!cpu || !cpus.contains(static_cast<int>(*cpu))) continue;
    std::int64_t fields[8];  // user, nice, system, idle, iowait, irq, softirq, steal
    for (std::int64_t& field : fields) {
      const std::optional<std::int64_t> value = number(take_word(line));
      if (!value) return std::nullopt;
      field = *value;
    }
    ticks[static_cast<int>(*cpu)] = {fields[0] + fields[1] + fields[2] + fields[5] + fields[6], fields[3] + fields[4],
                                     fields[7]};
  }
  return ticks.empty() ? std::nullopt : std::optional(std::move(ticks));
}

std::set<int> parse_allowed_cpus(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_word(line) != "Cpus_allowed_list:") continue;
    const std::vector<int> cpus = kernel::parse_list(take_word(line));
    return {cpus.begin(), cpus.end()};
  }
  return {};
}

std::optional<QuotaPeriods> parse_quota_periods(std::string_view text) {
  const auto all = value_of(text, "nr_periods"), stopped = value_of(text, "nr_throttled");
  if (!all || !stopped) return std::nullopt;
  return QuotaPeriods{*all, *stopped};
}

std::optional<NetworkBytes> parse_network_bytes(std::string_view text) {
  constexpr int kSentColumn = 8;
  NetworkBytes sum;
  bool found = false;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;  // the two lines of headings
    std::string_view name = line.substr(0, colon);
    line.remove_prefix(colon + 1);
    const std::optional<std::int64_t> received = number(take_word(line));
    for (int column = 1; column < kSentColumn; ++column) (void)take_word(line);
    const std::optional<std::int64_t> sent = number(take_word(line));
    if (!received || !sent) return std::nullopt;
    found = true;
    if (take_word(name) == "lo") continue;
    sum.received += *received;
    sum.sent += *sent;
  }
  return found ? std::optional(sum) : std::nullopt;
}

StatusMemory parse_status_memory(std::string_view text) {
  constexpr std::int64_t kMostKilobytes = std::int64_t{1} << 50;
  const auto bytes = [&](std::string_view key) {
    return 1024 * std::clamp<std::int64_t>(value_of(text, key).value_or(0), 0, kMostKilobytes);
  };
  StatusMemory memory{bytes("VmLck:"), bytes("VmPin:"), std::nullopt};
  if (value_of(text, "RssAnon:")) memory.anonymous_bytes = bytes("RssAnon:") + bytes("RssShmem:") + bytes("VmSwap:");
  return memory;
}

std::vector<std::string> parse_command_line(std::string_view text) {
  std::vector<std::string> arguments;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return arguments;
}

// An entry that is not ended by a zero byte was cut off, and is ignored.
RankNumbers parse_rank_numbers(std::string_view text) {
  struct Launcher {
    std::string_view global, local;
    RankNumbers numbers;
  };
  std::array<Launcher, 4> launchers{{{"RANK", "LOCAL_RANK", {}},
                                     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", {}},
                                     {"PMI_RANK", "MPI_LOCALRANKID", {}},
                                     {"SLURM_PROCID", "SLURM_LOCALID", {}}}};
  constexpr std::int64_t kMostRanks = 1 << 24;
  for (std::size_t end = text.find('\0'); end != std::string_view::npos; end = text.find('\0')) {
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::optional<std::int64_t> value = number(entry.substr(std::min(equals + 1, entry.size())));
    if (!value || *value < 0 || *value >= kMostRanks) continue;
    for (Launcher& launcher : launchers) {
      if (entry.substr(0, equals) == launcher.global) launcher.numbers.global = static_cast<int>(*value);
      if (entry.substr(0, equals) == launcher.local) launcher.numbers.local = static_cast<int>(*value);
    }
  }
  for (const Launcher& launcher : launchers)
    if (launcher.numbers.global >= 0) return launcher.numbers;
  return {};
}

}  // namespace unstarve
