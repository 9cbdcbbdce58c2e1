#pragma once
// What Python code does, by the function that it is in, and which share of the time it takes.
//
// Threads: pure functions.

#include <functional>
#include <span>
#include <string>

#include "unstarve/core/enum_words.h"
#include "unstarve/diagnose/profile/python_stacks.h"

namespace unstarve {

enum class Activity {
  kInput,       // gets the next batch from a loader
  kThreads,     // waits for results of its own threads or processes
  kExchange,    // exchanges data with other ranks, and waits for them
  kCheckpoint,  // saves the model
  kLogging,     // writes logs, events of TensorBoard, images of plots
  kCompile,     // compiles a graph
  kDecode,      // decodes images
  kPixels,      // other operations on images
  kOther,
};
template <>
inline constexpr std::array<std::string_view, 9> kWords<Activity>{
    "input", "threads", "exchange", "checkpoint", "logging", "compilation", "decode", "image operations", "other"};

// By the outermost frame that is known.
[[nodiscard]] Activity activity_of(const PythonStacks& stacks, const StackUse& stack);
[[nodiscard]] Activity activity_of(const CodeLine& line);

// Seconds of the thread per second of recording, 0..1 for the main thread. 0 without stacks.
[[nodiscard]] double share_of(const PythonStacks& stacks, StackThread thread, Activity activity);

// A line of the program's own files, not of libraries.
struct HotLine {
  CodeLine line;
  double share = 0;  // of the time of the threads; see share_of()
};
// The line in which `thread` spends most time itself, while it is in `activity`: no function that it calls is known.
// share = 0 if there is none.
[[nodiscard]] HotLine hottest_line(const PythonStacks& stacks, StackThread thread, Activity activity);

// As share_of() of the main thread, with all that functions of the program do which do `activity` for at least the part
// `least` of their time and do not train, such as save() around torch.save() and fsync(). `flushes`: lines that flush
// files do `activity`, too.
[[nodiscard]] double stall_share(const PythonStacks& stacks, Activity activity, double least = 0.05,
                                 bool flushes = false);
// The line in which `thread` flushes files most. share = 0 if there is none.
[[nodiscard]] HotLine hottest_flush(const PythonStacks& stacks, StackThread thread);

// The share of the main thread in which it loads data: gets batches, reads from servers, decodes images or changes
// their pixels; with all that functions of the program do which load for at least 5 % of their time and do not train.
// Other threads could do this. Plain reads of files have no frames: they count only within such functions.
[[nodiscard]] double loading_share(const PythonStacks& stacks);
// The part of it in which the innermost function reads from a server: it waits.
[[nodiscard]] double reading_share(const PythonStacks& stacks);

// The function of the program in which the main thread holds the interpreter's lock most, outside of loaders and
// frameworks: its own lines, and NumPy, Pillow and Python's library that they call. The line is the hottest of it.
struct HotFunction {
  HotLine line;
  double line_share = 0;       // of the function's time in which it holds the lock, in this line
  double wall_share = 0;       // of the main thread's time, also without the lock
  double line_wall_share = 0;  // the same of the line
};
[[nodiscard]] HotFunction hottest_python(const PythonStacks& stacks);

// The share of the time in which the main thread holds the interpreter's lock outside of the loader and other known
// activities.
[[nodiscard]] double interpreter_share(const PythonStacks& stacks);
// From this share on, the function of hottest_python() takes a large part of the time.
inline constexpr double kHotFunction = 0.2;

// The line of the program's own files from which `thread` calls functions of `activity` most.
[[nodiscard]] HotLine caller_of(const PythonStacks& stacks, StackThread thread, Activity activity);

// As share_of(), of the lines of the program themselves that mostly call functions which decode images or change their
// pixels: this is the time that releasing whole images takes.
[[nodiscard]] double own_share_of_image_lines(const PythonStacks& stacks, StackThread thread);

// What the workers of the loader do, shares of the time of one of them, 0..1. All are 0 if it is unknown.
struct WorkerShares {
  double decode = 0;    // decodes images
  double pixels = 0;    // changes images
  double collate = 0;   // makes a batch of samples
  double transfer = 0;  // sends batches to the main process, and pins them
};
[[nodiscard]] WorkerShares worker_shares(const PythonStacks& stacks);
// "decodes for 60 % and collates for 12 % of its time", most time first; empty if all are below 1 %.
[[nodiscard]] std::string to_string(const WorkerShares& shares);

// The share in which the main thread does `activity` while it gets the next batch.
[[nodiscard]] double share_within_input(const PythonStacks& stacks, Activity activity);

// Threads of this kind that execute Python or wait in native code, on average: those that wait in Python's own queues,
// locks and sockets are not counted.
[[nodiscard]] double working_threads(const PythonStacks& stacks, StackThread thread);

// "train.py:34 (augment)"
[[nodiscard]] std::string to_string(const CodeLine& line);
[[nodiscard]] bool is_library(const CodeLine& line);
// In the backward pass, by the name of the function.
[[nodiscard]] bool computes_gradients(const CodeLine& line);
// Of a library that contains the training loop of its users: Lightning, Keras, transformers, ...
[[nodiscard]] bool is_trainer(const CodeLine& line);

}  // namespace unstarve
