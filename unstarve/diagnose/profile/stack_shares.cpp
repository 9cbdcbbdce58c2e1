#include "unstarve/diagnose/profile/stack_shares.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace unstarve {
namespace {

struct KnownCode {
  Activity activity;
  std::string_view file;      // a part of its name
  std::string_view function;  // "": any
};

// The outermost frame decides, and of one frame the first row.
constexpr std::array kKnownCode{
    KnownCode{Activity::kInput, "torch/utils/data/dataloader.py", "__next__"},
    KnownCode{Activity::kInput, "torch/utils/data/dataloader.py", "__iter__"},
    KnownCode{Activity::kInput, "tensorflow/python/data/ops/iterator_ops.py", ""},
    KnownCode{Activity::kInput, "tensorflow/python/data/ops/dataset_ops.py", "__next__"},
    KnownCode{Activity::kInput, "unstarve/loaders/", ""},
    KnownCode{Activity::kInput, "nvidia/dali/", "__next__"},
    KnownCode{Activity::kInput, "ffcv/loader/", ""},
    KnownCode{Activity::kInput, "grain/", "__next__"},
    KnownCode{Activity::kInput, "webdataset/", ""},
    KnownCode{Activity::kInput, "datasets/iterable_dataset.py", ""},
    KnownCode{Activity::kDecode, "spdl/io/", ""},
    KnownCode{Activity::kInput, "spdl/", ""},
    KnownCode{Activity::kInput, "streaming/base/", ""},  // of MosaicML
    KnownCode{Activity::kInput, "ray/data/", ""},
    KnownCode{Activity::kInput, "petastorm/", ""},
    KnownCode{Activity::kInput, "fastai/data/load.py", ""},
    KnownCode{Activity::kThreads, "/queue.py", "get"},
    KnownCode{Activity::kThreads, "/multiprocessing/queues.py", "get"},
    KnownCode{Activity::kThreads, "/multiprocessing/pool.py", "next"},
    KnownCode{Activity::kThreads, "/concurrent/futures/_base.py", "result"},
    KnownCode{Activity::kCheckpoint, "torch/serialization.py", "save"},
    KnownCode{Activity::kCheckpoint, "torch/distributed/checkpoint/", ""},
    KnownCode{Activity::kExchange, "torch/distributed/distributed_c10d.py", ""},
    KnownCode{Activity::kExchange, "torch/distributed/nn/functional.py", ""},
    KnownCode{Activity::kExchange, "torch/nn/parallel/distributed.py", "_sync_buffers"},
    KnownCode{Activity::kExchange, "deepspeed/comm/", ""},
    KnownCode{Activity::kExchange, "horovod/torch/mpi_ops.py", "synchronize"},
    KnownCode{Activity::kExchange, "jax/experimental/multihost_utils.py", ""},
    KnownCode{Activity::kCheckpoint, "safetensors/", "save_file"},
    KnownCode{Activity::kCheckpoint, "safetensors/torch.py", "save_model"},
    KnownCode{Activity::kCheckpoint, "orbax/", ""},
    KnownCode{Activity::kCheckpoint, "tensorflow/python/checkpoint/", ""},
    KnownCode{Activity::kCheckpoint, "tensorflow/python/training/saver.py", "save"},
    KnownCode{Activity::kCheckpoint, "keras/", "save"},
    KnownCode{Activity::kCheckpoint, "numpy/lib/", "save"},
    KnownCode{Activity::kCheckpoint, "numpy/lib/", "savez"},
    KnownCode{Activity::kLogging, "tensorboard/", ""},
    KnownCode{Activity::kLogging, "torch/utils/tensorboard/", ""},
    KnownCode{Activity::kLogging, "tensorboardX/", ""},
    KnownCode{Activity::kLogging, "tensorflow/python/ops/summary", ""},
    KnownCode{Activity::kLogging, "wandb/", ""},
    KnownCode{Activity::kLogging, "mlflow/", ""},
    KnownCode{Activity::kLogging, "matplotlib/", ""},
    KnownCode{Activity::kLogging, "logging/__init__.py", ""},
    KnownCode{Activity::kLogging, "tqdm/", "display"},
    KnownCode{Activity::kCompile, "torch/_dynamo/convert_frame.py", ""},
    KnownCode{Activity::kCompile, "torch/_inductor/", ""},
    KnownCode{Activity::kCompile, "jax/_src/compiler.py", ""},
    KnownCode{Activity::kCompile, "jax/_src/interpreters/mlir.py", ""},
    KnownCode{Activity::kCompile, "jax/_src/interpreters/partial_eval.py", ""},
    KnownCode{Activity::kCompile, "jax/_src/interpreters/pxla.py", "lower_sharding_computation"},
    KnownCode{Activity::kCompile, "jax/_src/interpreters/pxla.py", "from_hlo"},
    KnownCode{Activity::kCompile, "jax/_src/pjit.py", "_infer_params"},
    // Its other functions are in every call.
    KnownCode{Activity::kCompile, "tensorflow/python/eager/polymorphic_function/tracing_compilation.py",
              "_create_concrete_function"},
    KnownCode{Activity::kLogging, "PIL/Image.py", "save"},
    KnownCode{Activity::kDecode, "PIL/ImageFile.py", "load"},
    KnownCode{Activity::kDecode, "PIL/Image.py", "open"},
    KnownCode{Activity::kDecode, "torchvision/io/image.py", ""},
    KnownCode{Activity::kDecode, "imageio/", ""},
    KnownCode{Activity::kDecode, "turbojpeg.py", "decode"},
    KnownCode{Activity::kDecode, "cv2/__init__.py", "imread"},  // see add_image_calls()
    KnownCode{Activity::kDecode, "cv2/__init__.py", "imdecode"},
    KnownCode{Activity::kDecode, "cv2/__init__.py", "decode_jpeg"},
    KnownCode{Activity::kPixels, "cv2/__init__.py", ""},
    KnownCode{Activity::kPixels, "PIL/", ""},
    KnownCode{Activity::kPixels, "torchvision/transforms/", ""},
};

bool matches(const KnownCode& known, const CodeLine& line) {
  return line.file.find(known.file) != std::string::npos && (known.function.empty() || known.function == line.function);
}

bool is_framework(const CodeLine& line) {
  return line.file.starts_with("torch/") || line.file.starts_with("tensorflow/") || line.file.starts_with("jax/") ||
         line.file.starts_with("keras/") || activity_of(line) == Activity::kInput;
}

// Whether it reads from a server.
bool is_reading(const CodeLine& line) {
  constexpr std::array<std::string_view, 10> kReads{
      "/http/client.py", "/urllib/request.py", "/socket.py",           "/ssl.py", "requests/", "urllib3/", "fsspec/",
      "s3fs/",           "botocore/",          "google/cloud/storage/"};
  return std::ranges::any_of(kReads, [&](std::string_view part) { return line.file.find(part) != std::string::npos; });
}

// Whether it gets, reads, decodes or changes data.
bool loads(const PythonStacks& stacks, const StackUse& stack) {
  const Activity activity = activity_of(stacks, stack);
  if (activity == Activity::kInput || activity == Activity::kDecode || activity == Activity::kPixels) return true;
  return activity == Activity::kOther && std::ranges::any_of(stack.lines, [&](int index) {
           return is_reading(stacks.lines[static_cast<std::size_t>(index)]);
         });
}

// Whether its innermost line flushes files.
bool is_flushing(const PythonStacks& stacks, const StackUse& stack) {
  return !stack.lines.empty() && stacks.lines[static_cast<std::size_t>(stack.lines.back())].flushes;
}

// The functions of the program in which it is.
std::set<std::string> functions_in(const PythonStacks& stacks, const StackUse& stack) {
  std::set<std::string> names;
  for (const int index : stack.lines) {
    const CodeLine& line = stacks.lines[static_cast<std::size_t>(index)];
    if (!is_library(line)) names.insert(line.file + ":" + line.function);
  }
  return names;
}

bool has_framework(const PythonStacks& stacks, const StackUse& stack) {
  return std::ranges::any_of(stack.lines,
                             [&](int index) { return is_framework(stacks.lines[static_cast<std::size_t>(index)]); });
}

// Whether its innermost frame waits for other threads, processes or programs.
bool waits_in_python(const PythonStacks& stacks, const StackUse& stack) {
  constexpr std::array<std::string_view, 7> kWaits{
      "/threading.py", "/queue.py", "/selectors.py", "/multiprocessing/connection.py", "/concurrent/futures/thread.py",
      "/socket.py",    "/asyncio/"};
  if (stack.lines.empty()) return false;
  const std::string& file = stacks.lines[static_cast<std::size_t>(stack.lines.back())].file;
  return std::ranges::any_of(kWaits, [&](auto part) { return file.find(part) != std::string::npos; });
}

HotLine hottest(const PythonStacks& stacks, const std::map<int, double>& by_line, double recorded) {
  HotLine result;
  for (const auto& [line, seconds] : by_line) {
    if (seconds / recorded <= result.share) continue;
    result = {stacks.lines[static_cast<std::size_t>(line)], seconds / recorded};
  }
  return result;
}

// The share of the recorded time in stacks for which `counts`.
template <class Counts>
double share_where(const PythonStacks& stacks, const Counts& counts) {
  if (stacks.seconds <= 0) return 0;
  double seconds = 0;
  for (const StackUse& stack : stacks.stacks)
    if (counts(stack)) seconds += stack.seconds;
  return seconds / stacks.seconds;
}

// Of the lines that `line_of` names for stacks, the one with most time.
constexpr int kNoLine = -1;
template <class LineOf>
HotLine hottest_where(const PythonStacks& stacks, const LineOf& line_of) {
  if (stacks.seconds <= 0) return {};
  std::map<int, double> by_line;
  for (const StackUse& stack : stacks.stacks)
    if (const int line = line_of(stack); line != kNoLine) by_line[line] += stack.seconds;
  return hottest(stacks, by_line, stacks.seconds);
}

// Seconds of a function of the program in the main thread.
struct FunctionTime {
  double all = 0;
  double part = 0;      // in what is searched for
  double training = 0;  // in a framework, otherwise
};

// The share of the main thread's time in stacks that do something, and in functions of the program around them that
// `belongs`(their time, seconds of training in all functions).
template <class Does, class Belongs>
double share_with_callers(const PythonStacks& stacks, const Does& does, const Belongs& belongs) {
  if (stacks.seconds <= 0) return 0;
  std::map<std::string, FunctionTime> functions;
  double training = 0;
  const auto counts = [](const StackUse& stack) { return stack.thread == StackThread::kMain && stack.seconds > 0; };
  for (const StackUse& stack : stacks.stacks) {
    if (!counts(stack)) continue;
    const bool in_part = does(stack), in_training = !in_part && has_framework(stacks, stack);
    if (in_training) training += stack.seconds;
    for (const std::string& name : functions_in(stacks, stack)) {
      FunctionTime& time = functions[name];
      time.all += stack.seconds;
      if (in_part) time.part += stack.seconds;
      if (in_training) time.training += stack.seconds;
    }
  }
  double seconds = 0;
  for (const StackUse& stack : stacks.stacks) {
    if (!counts(stack)) continue;
    const std::set<std::string> names = functions_in(stacks, stack);
    const bool within =
        std::ranges::any_of(names, [&](const std::string& name) { return belongs(functions[name], training); });
    if (within || does(stack)) seconds += stack.seconds;
  }
  return seconds / stacks.seconds;
}

}  // namespace

Activity activity_of(const CodeLine& line) {
  for (const KnownCode& known : kKnownCode)
    if (matches(known, line)) return known.activity;
  return Activity::kOther;
}

// Pillow decodes when pixels are needed first, for example within convert().
Activity activity_of(const PythonStacks& stacks, const StackUse& stack) {
  Activity result = Activity::kOther;
  for (const int index : stack.lines) {
    const Activity activity = activity_of(stacks.lines[static_cast<std::size_t>(index)]);
    if (result == Activity::kOther || (result == Activity::kPixels && activity == Activity::kDecode)) result = activity;
  }
  return result;
}

double working_threads(const PythonStacks& stacks, StackThread thread) {
  return share_where(stacks,
                     [&](const StackUse& stack) { return stack.thread == thread && !waits_in_python(stacks, stack); });
}

double share_of(const PythonStacks& stacks, StackThread thread, Activity activity) {
  return share_where(stacks, [&](const StackUse& stack) {
    return stack.thread == thread && stack.seconds > 0 && activity_of(stacks, stack) == activity;
  });
}

HotLine hottest_line(const PythonStacks& stacks, StackThread thread, Activity activity) {
  return hottest_where(stacks, [&](const StackUse& stack) {
    if (stack.thread != thread || stack.lines.empty() || activity_of(stacks, stack) != activity) return kNoLine;
    const int line = stack.lines.back();
    return is_library(stacks.lines[static_cast<std::size_t>(line)]) ? kNoLine : line;
  });
}

double stall_share(const PythonStacks& stacks, Activity activity, double least, bool flushes) {
  // Functions with a larger share of all time contain the training itself, except if a framework trains elsewhere.
  constexpr double kMostOfAll = 0.6;
  constexpr double kTrains = 0.05;
  const auto does = [&](const StackUse& stack) {
    const Activity own = activity_of(stacks, stack);
    return own == activity || (flushes && own == Activity::kOther && is_flushing(stacks, stack));
  };
  return share_with_callers(stacks, does, [&](const FunctionTime& time, double training) {
    const bool trains_elsewhere =
        time.training < kTrains * time.all && training - time.training >= kTrains * stacks.seconds;
    return time.part > 0 && time.part >= least * time.all &&
           (time.all <= kMostOfAll * stacks.seconds || trains_elsewhere);
  });
}

HotLine hottest_flush(const PythonStacks& stacks, StackThread thread) {
  return hottest_where(stacks, [&](const StackUse& stack) {
    return stack.thread == thread && is_flushing(stacks, stack) ? stack.lines.back() : kNoLine;
  });
}

double loading_share(const PythonStacks& stacks) {
  constexpr double kLoads = 0.05;   // of the time of a function
  constexpr double kTrains = 0.05;  // of the training
  const auto does = [&](const StackUse& stack) { return loads(stacks, stack); };
  const double share = share_with_callers(stacks, does, [](const FunctionTime& time, double training) {
    // Without training, the function that trains is unknown.
    return training > 0 && time.part >= kLoads * time.all && time.training <= kTrains * training;
  });
  return std::min(share, 1.0);
}

double reading_share(const PythonStacks& stacks) {
  const double share = share_where(stacks, [&](const StackUse& stack) {
    return stack.thread == StackThread::kMain && stack.seconds > 0 && !stack.lines.empty() && loads(stacks, stack) &&
           is_reading(stacks.lines[static_cast<std::size_t>(stack.lines.back())]);
  });
  return std::min(share, 1.0);
}

HotFunction hottest_python(const PythonStacks& stacks) {
  if (stacks.interpreter_s <= 0) return {};
  struct Function {
    double interpreter_s = 0, wall_s = 0;
    std::map<int, double> lines, wall_lines;
  };
  std::map<std::string, Function> functions;
  for (const StackUse& stack : stacks.stacks) {
    if (stack.thread != StackThread::kMain) continue;
    int own = -1;
    bool framework = false;
    for (const int index : stack.lines) {
      const CodeLine& line = stacks.lines[static_cast<std::size_t>(index)];
      framework = framework || is_framework(line);
      if (!is_library(line)) own = index;
    }
    if (own < 0 || framework) continue;
    const CodeLine& line = stacks.lines[static_cast<std::size_t>(own)];
    Function& function = functions[line.file + ":" + line.function];
    function.interpreter_s += stack.interpreter_s;
    function.wall_s += stack.seconds;
    function.wall_lines[own] += stack.seconds;
    function.lines[own] += stack.interpreter_s;
  }
  HotFunction result;
  for (const auto& [name, function] : functions) {
    if (function.interpreter_s / stacks.interpreter_s <= result.line.share) continue;
    result.line = hottest(stacks, function.lines, stacks.interpreter_s);
    result.line_share = result.line.share * stacks.interpreter_s / function.interpreter_s;
    result.line.share = function.interpreter_s / stacks.interpreter_s;
    result.wall_share = stacks.seconds > 0 ? function.wall_s / stacks.seconds : 0;
    double line_wall_s = 0;
    for (const auto& [line, seconds] : function.wall_lines)
      if (stacks.lines[static_cast<std::size_t>(line)] == result.line.line) line_wall_s += seconds;
    result.line_wall_share = stacks.seconds > 0 ? line_wall_s / stacks.seconds : 0;
  }
  return result;
}

HotLine caller_of(const PythonStacks& stacks, StackThread thread, Activity activity) {
  return hottest_where(stacks, [&](const StackUse& stack) {
    int caller = kNoLine;
    if (stack.thread != thread || activity_of(stacks, stack) != activity) return caller;
    for (const int index : stack.lines) {
      const CodeLine& line = stacks.lines[static_cast<std::size_t>(index)];
      if (activity_of(line) != Activity::kOther) break;
      if (!is_library(line)) caller = index;
    }
    return caller;
  });
}

double own_share_of_image_lines(const PythonStacks& stacks, StackThread thread) {
  if (stacks.seconds <= 0) return 0;
  struct Line {
    double own_s = 0, images_s = 0;
  };
  std::map<int, Line> lines;
  for (const StackUse& stack : stacks.stacks) {
    if (stack.thread != thread || stack.lines.empty()) continue;
    const int last = stack.lines.back();
    if (!is_library(stacks.lines[static_cast<std::size_t>(last)])) lines[last].own_s += stack.seconds;
    const bool images = std::ranges::any_of(stack.lines, [&](int index) {
      const Activity activity = activity_of(stacks.lines[static_cast<std::size_t>(index)]);
      return activity == Activity::kDecode || activity == Activity::kPixels;
    });
    if (!images) continue;
    for (const int index : std::set<int>(stack.lines.begin(), stack.lines.end()))
      lines[index].images_s += stack.seconds;
  }
  double seconds = 0;
  for (const auto& [index, line] : lines)
    if (line.images_s > line.own_s) seconds += line.own_s;
  return seconds / stacks.seconds;
}

WorkerShares worker_shares(const PythonStacks& stacks) {
  WorkerShares shares;
  if (stacks.processes <= 0) return shares;
  const auto has_file = [&](const StackUse& stack, std::string_view part) {
    return std::ranges::any_of(stack.lines, [&](int index) {
      return stacks.lines[static_cast<std::size_t>(index)].file.find(part) != std::string::npos;
    });
  };
  const auto collates = [&](const StackUse& stack) { return has_file(stack, "torch/utils/data/_utils/collate.py"); };
  // The thread that sends waits for batches in a condition of threading.py.
  const auto transfers = [&](const StackUse& stack) {
    if (waits_in_python(stacks, stack)) return false;
    return has_file(stack, "multiprocessing/reduction") || has_file(stack, "/_utils/pin_memory.py") ||
           has_file(stack, "/multiprocessing/queues.py");
  };
  const auto share = [&](const auto& counts) {
    const auto of_worker = [&](const StackUse& stack) { return stack.thread == StackThread::kLoader && counts(stack); };
    return std::min(share_where(stacks, of_worker) / stacks.processes, 1.0);
  };
  const auto does = [&](Activity activity) {
    return share([&](const StackUse& stack) {
      return activity_of(stacks, stack) == activity && !collates(stack) && !transfers(stack);
    });
  };
  return {does(Activity::kDecode), does(Activity::kPixels),
          share([&](const StackUse& stack) { return collates(stack) && !transfers(stack); }), share(transfers)};
}

std::string to_string(const WorkerShares& shares) {
  std::array<std::pair<double, const char*>, 4> parts{{{shares.decode, "decodes"},
                                                       {shares.pixels, "changes images"},
                                                       {shares.collate, "collates"},
                                                       {shares.transfer, "sends batches"}}};
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> texts;
  for (const auto& [share, does] : parts)
    if (share >= 0.01) texts.push_back(fmt::format("{} for {:.0f} %", does, 100 * share));
  if (texts.empty()) return "";
  const std::string last = texts.back();
  texts.pop_back();
  return fmt::format("{}{}{} of its time", fmt::join(texts, ", "), texts.empty() ? "" : " and ", last);
}

double interpreter_share(const PythonStacks& stacks) {
  if (stacks.interpreter_s <= 0) return 0;
  double seconds = 0;
  for (const StackUse& stack : stacks.stacks)
    if (stack.thread == StackThread::kMain && stack.interpreter_s > 0 && activity_of(stacks, stack) == Activity::kOther)
      seconds += stack.interpreter_s;
  return std::min(seconds / stacks.interpreter_s, 1.0);  // of several main processes, the sum may be more
}

double share_within_input(const PythonStacks& stacks, Activity activity) {
  return share_where(stacks, [&](const StackUse& stack) {
    if (stack.thread != StackThread::kMain || activity_of(stacks, stack) != Activity::kInput) return false;
    StackUse inner = stack;  // without the frames of the loader
    std::erase_if(inner.lines, [&](int index) {
      return activity_of(stacks.lines[static_cast<std::size_t>(index)]) == Activity::kInput;
    });
    return activity_of(stacks, inner) == activity;
  });
}

std::string to_string(const CodeLine& line) {
  return fmt::format("{}:{} ({})", std::filesystem::path(line.file).filename().string(), line.line, line.function);
}

// py-spy removes the folder of installed packages from their names, so that they are relative; a program's own files
// are absolute or in the present folder. "<frozen importlib._bootstrap>" belongs to Python.
bool is_library(const CodeLine& line) {
  const std::string& file = line.file;
  if (file.empty() || file[0] == '<') return true;
  const std::size_t python = file.find("/lib/python3");  // the standard library
  if (python != std::string::npos) return true;
  return file[0] != '/' && file.find('/') != std::string::npos;
}

bool computes_gradients(const CodeLine& line) {
  if (line.function.find("gradient_checkpointing") != std::string::npos) return false;  // is switched on or off
  return line.function.find("backward") != std::string::npos || line.function.find("gradient") != std::string::npos;
}

bool is_trainer(const CodeLine& line) {
  constexpr std::array<std::string_view, 17> kFolders{"lightning/",
                                                      "pytorch_lightning/",
                                                      "transformers/",
                                                      "keras/",
                                                      "tf_keras/",
                                                      "tensorflow/",
                                                      "trl/",
                                                      "fastai/",
                                                      "ignite/",
                                                      "composer/",
                                                      "mmengine/",
                                                      "detectron2/",
                                                      "torchtune/",
                                                      "ultralytics/",
                                                      "fairseq/",
                                                      "catalyst/",
                                                      "sentence_transformers/"};
  return std::ranges::any_of(kFolders, [&](std::string_view folder) { return line.file.starts_with(folder); });
}

}  // namespace unstarve
