#include "unstarve/diagnose/probes/stack_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/diagnose/profile/stack_shares.h"

namespace unstarve {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kStacks = 4000;
constexpr std::size_t kDeepest = 200;  // frames of a stack; the inner ones are kept

int number_after(std::string_view text, std::string_view word) {
  const std::size_t begin = text.find(word);
  if (begin == std::string_view::npos) return 0;
  text.remove_prefix(begin + word.size());
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The frame of a process: `process 12:"python train.py"`.
bool is_process(const CodeLine& line) { return line.file.empty() && line.function.starts_with("process "); }

// Whether the thread imports modules, or waits until all ranks have started: that belongs to the start of the program.
bool is_start(const std::vector<int>& sample, const std::vector<CodeLine>& lines) {
  return std::ranges::any_of(sample, [&](int index) {
    const CodeLine& line = lines[static_cast<std::size_t>(index)];
    return (line.function == "_find_and_load" && line.file.starts_with("<frozen importlib")) ||
           (line.function == "init_process_group" && line.file.ends_with("torch/distributed/distributed_c10d.py"));
  });
}

bool has_gradient(const std::vector<int>& sample, const std::vector<CodeLine>& lines) {
  return std::ranges::any_of(sample,
                             [&](int index) { return computes_gradients(lines[static_cast<std::size_t>(index)]); });
}

// The innermost function of the program in a stack; empty if there is none.
std::string own_function(const std::vector<int>& stack, const std::vector<CodeLine>& lines) {
  const auto own = std::find_if(stack.rbegin(), stack.rend(),
                                [&](int index) { return !is_library(lines[static_cast<std::size_t>(index)]); });
  if (own == stack.rend()) return {};
  const CodeLine& line = lines[static_cast<std::size_t>(*own)];
  return line.file + ":" + line.function;
}

// The functions of the program from the first gradients on; nothing if there are none.
std::optional<std::set<std::string>> functions_of_training(const std::vector<std::vector<int>>& samples,
                                                           const std::vector<CodeLine>& lines) {
  const auto first =
      std::ranges::find_if(samples, [&](const std::vector<int>& sample) { return has_gradient(sample, lines); });
  if (first == samples.end()) return std::nullopt;
  std::set<std::string> functions;
  for (auto sample = first; sample != samples.end(); ++sample) functions.insert(own_function(*sample, lines));
  return functions;
}

// A forked process has the stack of its parent below its own, which begins with Process._bootstrap().
std::size_t begin_of_own(const std::vector<int>& sample, const std::vector<CodeLine>& lines) {
  for (std::size_t i = sample.size(); i > 0; --i) {
    const CodeLine& line = lines[static_cast<std::size_t>(sample[i - 1])];
    if (line.function == "_bootstrap" && line.file.ends_with("multiprocessing/process.py")) return i - 1;
  }
  return 0;
}

CodeLine code_line(const Json& frame) {
  CodeLine line;
  line.function = frame.at("name").get<std::string>();
  if (const auto file = frame.find("file"); file != frame.end() && file->is_string()) line.file = *file;
  // py-spy writes whole paths if it does not find the folders of the interpreter.
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"})
    if (const std::size_t begin = line.file.rfind(folder); begin != std::string::npos)
      line.file.erase(0, begin + folder.size());
  if (const auto number = frame.find("line"); number != frame.end() && number->is_number_integer()) line.line = *number;
  return line;
}

RecordedThread recorded_thread(const Json& profile, const std::vector<CodeLine>& lines, const std::vector<bool>& ends,
                               int process) {
  const std::string name = profile.at("name").get<std::string>();
  RecordedThread thread;
  thread.process = name.starts_with("Process ") ? number_after(name, "Process ") : process;
  const int id = number_after(name, "Thread ");
  thread.is_main = name.find("\"MainThread\"") != std::string::npos || (id != 0 && id == thread.process);
  for (const Json& sample : profile.at("samples")) {
    std::vector<int> stack;
    for (const Json& entry : sample) {
      const int index = entry.get<int>();
      if (index < 0 || static_cast<std::size_t>(index) >= lines.size())
        throw Error(ErrorKind::kInput, fmt::format("found frame {}; expected less than {}", index, lines.size()));
      if (!ends[static_cast<std::size_t>(index)]) stack.push_back(index);
    }
    if (stack.empty()) continue;  // frames that changed while they were read: the sample is missing
    if (stack.size() > kDeepest) stack.erase(stack.begin(), stack.end() - kDeepest);
    thread.samples.push_back(std::move(stack));
  }
  return thread;
}

// Samples fail while a thread calls Python functions fast, or while the machine is busy. Those of the main process
// count for the whole recording; otherwise shares of such threads would be too small.
double missing_factor(const StackRecording& recording, int main_process, double seconds) {
  constexpr double kMost = 4;
  std::size_t samples = 0;
  for (const RecordedThread& thread : recording.threads)
    if (thread.process == main_process && thread.is_main) samples = std::max(samples, thread.samples.size());
  if (samples == 0) return 1;
  return std::clamp(seconds / (static_cast<double>(samples) * recording.interval_s), 1.0, kMost);
}

// For each sample of a main thread, how many it counts for, if `factor` is missing_factor(). Samples fail where stacks
// change while they are read: those of a line of the program from which different functions are called replace more of
// the missing ones than those of a line that waits. In examples/slow/augment_in_python, a quarter is missing; the loop
// has 86 % of the others, and 90 % of the time.
std::vector<double> weights_of(const std::vector<std::vector<int>>& samples, const std::vector<CodeLine>& lines,
                               double factor) {
  constexpr double kLeast = 0.02;  // of stacks that never change
  constexpr double kFew = 5;       // samples of a line, which show little
  struct Line {
    double samples = 0;
    std::map<std::vector<int>, double> stacks;
  };
  std::map<int, Line> by_line;  // -1: no line of the program
  std::vector<int> line_of;
  for (const std::vector<int>& sample : samples) {
    const auto own = std::find_if(sample.rbegin(), sample.rend(),
                                  [&](int index) { return !is_library(lines[static_cast<std::size_t>(index)]); });
    line_of.push_back(own == sample.rend() ? -1 : *own);
    Line& line = by_line[line_of.back()];
    ++line.samples;
    ++line.stacks[sample];
  }
  std::map<int, double> changing;
  double sum = 0;
  for (const auto& [index, line] : by_line) {
    double same = 0;  // probability that two samples have the same stack
    for (const auto& [stack, count] : line.stacks) same += count * count / (line.samples * line.samples);
    changing[index] = kLeast + (1 - same) * line.samples / (line.samples + kFew);
    sum += line.samples * changing[index];
  }
  const double missing = (factor - 1) * static_cast<double>(samples.size());
  std::vector<double> weights;
  for (const int line : line_of) weights.push_back(1 + missing * changing[line] / sum);
  return weights;
}

}  // namespace

StackRecording parse_stack_recording(const std::string& text, int process) {
  try {
    const Json json = parse_json(text);
    StackRecording recording;
    for (const Json& frame : json.at("shared").at("frames")) recording.lines.push_back(code_line(frame));
    std::vector<bool> processes;
    for (const CodeLine& line : recording.lines) processes.push_back(is_process(line));
    for (const Json& profile : json.at("profiles")) {
      if (profile.at("type") != "sampled") throw Error(ErrorKind::kInput, "found a profile without samples");
      recording.threads.push_back(recorded_thread(profile, recording.lines, processes, process));
      const Json& weights = profile.at("weights");
      if (weights.size() != profile.at("samples").size())
        throw Error(ErrorKind::kInput, "found another number of weights than of samples");
      if (weights.empty()) continue;
      recording.interval_s = weights[0].get<double>();
      if (!(recording.interval_s > 0 && recording.interval_s < 1e6))
        throw Error(ErrorKind::kInput, fmt::format("found an interval of {} s", recording.interval_s));
    }
    return recording;
  } catch (const Error& error) {
    throw Error(ErrorKind::kInput, fmt::format("read stacks of py-spy: {}", error.what()));
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::kInput, fmt::format("read stacks of py-spy: {}", error.what()));
  }
}

void mark_flushes(StackRecording& recording,
                  const std::function<std::optional<std::string>(const std::string& file)>& text_of) {
  std::map<std::string, std::vector<CodeLine*>> by_file;
  for (CodeLine& line : recording.lines)
    if (!is_library(line) && line.line > 0) by_file[line.file].push_back(&line);
  for (const auto& [file, lines] : by_file) {
    const std::optional<std::string> text = text_of(file);
    if (!text) continue;
    std::istringstream stream(*text);
    std::string code;
    for (int number = 1; std::getline(stream, code); ++number) {
      const std::string_view statement = std::string_view(code).substr(0, code.find('#'));
      const bool flushes =
          statement.find("fsync(") != std::string_view::npos || statement.find("fdatasync(") != std::string_view::npos;
      for (CodeLine* const line : lines) line->flushes = line->flushes || (flushes && line->line == number);
    }
  }
}

void add_image_calls(StackRecording& recording,
                     const std::function<std::optional<std::string>(const std::string& file)>& text_of) {
  struct Call {
    std::string_view text, function;
  };
  constexpr std::array kCalls{Call{"cv2.imread(", "imread"},
                              Call{"cv2.imdecode(", "imdecode"},
                              Call{"decode_jpeg(", "decode_jpeg"},
                              Call{"cv2.resize(", "resize"},
                              Call{"cv2.cvtColor(", "cvtColor"},
                              Call{"cv2.warpAffine(", "warpAffine"},
                              Call{"cv2.GaussianBlur(", "GaussianBlur"}};
  std::map<std::string, std::vector<std::string>> texts;  // lines of each file
  const auto text_at = [&](const CodeLine& line) -> std::string_view {
    const auto [entry, is_new] = texts.try_emplace(line.file);
    if (is_new) {
      std::istringstream stream(text_of(line.file).value_or(""));
      for (std::string text; std::getline(stream, text);) entry->second.push_back(std::move(text));
    }
    if (line.line < 1 || static_cast<std::size_t>(line.line) > entry->second.size()) return "";
    const std::string_view text = entry->second[static_cast<std::size_t>(line.line) - 1];
    return text.substr(0, text.find('#'));
  };
  constexpr int kNone = -1;
  std::map<int, int> frame_of;  // line of the program -> the added one, or kNone
  std::map<std::string_view, int> added;
  for (RecordedThread& thread : recording.threads) {
    for (std::vector<int>& sample : thread.samples) {
      if (sample.empty()) continue;
      const auto [frame, is_new] = frame_of.try_emplace(sample.back(), kNone);
      if (is_new && !is_library(recording.lines[static_cast<std::size_t>(sample.back())])) {
        const std::string_view text = text_at(recording.lines[static_cast<std::size_t>(sample.back())]);
        const auto call = std::ranges::find_if(
            kCalls, [&](const Call& one) { return text.find(one.text) != std::string_view::npos; });
        if (call != kCalls.end()) {
          const auto [number, first] = added.try_emplace(call->function, static_cast<int>(recording.lines.size()));
          if (first) recording.lines.push_back({std::string(call->function), "cv2/__init__.py", 0});
          frame->second = number->second;
        }
      }
      if (frame->second != kNone) sample.push_back(frame->second);
    }
  }
}

double StackSum::add(const StackRecording& recording, int main_process, RecordingKind kind, double seconds,
                     double end_s) {
  const bool all = kind == RecordingKind::kAll;
  (all ? sum_.seconds : sum_.interpreter_s) += seconds;
  const double factor = all ? missing_factor(recording, main_process, seconds) : 1;
  return seconds - add_stacks(recording, kind, main_process, factor, end_s);
}

void StackSum::add_worker(const StackRecording& recording, int workers, double end_s) {
  std::size_t samples = 0;  // some fail, and a worker may end
  for (const RecordedThread& thread : recording.threads) samples = std::max(samples, thread.samples.size());
  worker_s_ += static_cast<double>(samples) * recording.interval_s;
  (void)add_stacks(recording, RecordingKind::kWorker, 0, workers, end_s);
  sum_.processes = std::max(sum_.processes, workers);
}

// `factor`: for how much a sample counts.
double StackSum::add_stacks(const StackRecording& recording, RecordingKind kind, int main_process, double factor,
                            double end_s) {
  const bool all = kind != RecordingKind::kInterpreter;
  // Lines of this recording -> lines of the sum.
  std::map<std::tuple<std::string, std::string, int>, int> known;
  for (std::size_t i = 0; i < sum_.lines.size(); ++i)
    known[{sum_.lines[i].file, sum_.lines[i].function, sum_.lines[i].line}] = static_cast<int>(i);
  std::vector<int> index_of;
  for (const CodeLine& line : recording.lines) {
    const auto [entry, is_new] =
        known.try_emplace({line.file, line.function, line.line}, static_cast<int>(sum_.lines.size()));
    if (is_new) sum_.lines.push_back(line);
    index_of.push_back(entry->second);
    CodeLine& known_line = sum_.lines[static_cast<std::size_t>(entry->second)];
    known_line.flushes = known_line.flushes || line.flushes;
  }
  std::map<std::pair<StackThread, std::vector<int>>, double> time_of;
  std::set<int> loaders;
  double start_s = 0;
  for (const RecordedThread& thread : recording.threads) {
    const bool is_worker = kind == RecordingKind::kWorker, is_main = !is_worker && thread.process == main_process;
    if (!is_main) loaders.insert(thread.process);
    const StackThread role = !is_main         ? StackThread::kLoader
                             : thread.is_main ? StackThread::kMain
                                              : StackThread::kHelper;
    const std::vector<double> weights =
        role == StackThread::kMain ? weights_of(thread.samples, recording.lines, factor)
                                   : std::vector<double>(thread.samples.size(), is_main || is_worker ? factor : 1);
    bool trains = true;  // from this sample on
    std::optional<std::set<std::string>> training;
    if (role == StackThread::kMain && all && !training_.contains(main_process)) {
      training = functions_of_training(thread.samples, recording.lines);
      if (training) training_.insert(main_process);
      trains = !training || !recording.from_start;
      if (!trains && training_.size() == 1) drop_start(*training);  // no other rank trains yet
    }
    for (std::size_t number = 0; number < thread.samples.size(); ++number) {
      const std::vector<int>& sample = thread.samples[number];
      const double sample_s = recording.interval_s * weights[number];
      trains = trains || has_gradient(sample, recording.lines);
      const bool before = !trains && !training->contains(own_function(sample, recording.lines));
      if (before || is_start(sample, recording.lines)) {
        if (all && role == StackThread::kMain) start_s += sample_s;
        continue;
      }
      std::vector<int> stack;
      for (std::size_t i = is_main ? 0 : begin_of_own(sample, recording.lines); i < sample.size(); ++i)
        stack.push_back(index_of[static_cast<std::size_t>(sample[i])]);
      time_of[{role, std::move(stack)}] += sample_s;
    }
  }
  sum_.seconds -= start_s;
  sum_.processes = std::max(sum_.processes, static_cast<int>(loaders.size()));
  for (StackUse& stack : sum_.stacks) {
    const auto found = time_of.find({stack.thread, stack.lines});
    if (found == time_of.end()) continue;
    (all ? stack.seconds : stack.interpreter_s) += found->second;
    stack.last_s = end_s;
    time_of.erase(found);
  }
  for (const auto& [key, value] : time_of) {
    StackUse stack{key.first, key.second, 0, 0, end_s};
    (all ? stack.seconds : stack.interpreter_s) = value;
    sum_.stacks.push_back(std::move(stack));
  }
  limit();
  return start_s;
}

void StackSum::drop_start(const std::set<std::string>& training) {
  std::erase_if(sum_.stacks, [&](const StackUse& stack) {
    if (stack.thread != StackThread::kMain || training.contains(own_function(stack.lines, sum_.lines))) return false;
    sum_.seconds -= stack.seconds;
    sum_.interpreter_s -= stack.interpreter_s;
    return true;
  });
}

void StackSum::limit() {
  std::ranges::stable_sort(sum_.stacks, [](const StackUse& a, const StackUse& b) {
    return a.seconds + a.interpreter_s > b.seconds + b.interpreter_s;
  });
  if (sum_.stacks.size() <= kStacks) return;
  sum_.stacks.resize(kStacks);
  std::vector<int> index_of(sum_.lines.size(), -1);
  std::vector<CodeLine> lines;
  for (StackUse& stack : sum_.stacks) {
    for (int& index : stack.lines) {
      int& kept = index_of[static_cast<std::size_t>(index)];
      if (kept < 0) {
        kept = static_cast<int>(lines.size());
        lines.push_back(sum_.lines[static_cast<std::size_t>(index)]);
      }
      index = kept;
    }
  }
  sum_.lines = std::move(lines);
}

PythonStacks StackSum::stacks() const {
  PythonStacks stacks = sum_;
  if (worker_s_ <= 0) return stacks;
  for (StackUse& stack : stacks.stacks)
    if (stack.thread == StackThread::kLoader) stack.seconds *= sum_.seconds / worker_s_;
  return stacks;
}

}  // namespace unstarve
