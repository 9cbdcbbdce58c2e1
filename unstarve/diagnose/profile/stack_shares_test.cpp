#include "unstarve/diagnose/profile/stack_shares.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

const std::vector<CodeLine> kLines{
    {"<module>", "/home/me/train.py", 40},                                // 0
    {"__next__", "torch/utils/data/dataloader.py", 733},                  // 1
    {"load", "PIL/ImageFile.py", 300},                                    // 2
    {"augment", "/home/me/train.py", 12},                                 // 3
    {"save", "torch/serialization.py", 900},                              // 4
    {"backward", "torch/_tensor.py", 600},                                // 5
    {"get", "/usr/lib/python3.11/queue.py", 180},                         // 6
    {"<module>", "/home/me/train.py", 41},                                // 7
    {"convert", "PIL/Image.py", 1000},                                    // 8
    {"_call_with_frames_removed", "<frozen importlib._bootstrap>", 241},  // 9
};

PythonStacks recorded(const std::vector<StackUse>& stacks) {
  PythonStacks result;
  result.seconds = 10;
  result.interpreter_s = 5;
  result.processes = 2;
  result.lines = kLines;
  result.stacks = stacks;
  return result;
}

TEST_CASE("activities are those of the outermost known function") {
  const auto activity = [](std::vector<int> lines) {
    const StackUse stack{StackThread::kMain, std::move(lines), 1, 0, 0};
    return activity_of(recorded({stack}), stack);
  };
  CHECK(activity({0, 1, 2}) == Activity::kInput);
  CHECK(activity({0, 2}) == Activity::kDecode);
  CHECK(activity({0, 4}) == Activity::kCheckpoint);
  CHECK(activity({0, 8}) == Activity::kPixels);
  CHECK(activity({0, 8, 2}) == Activity::kDecode);
  CHECK(activity({0, 6}) == Activity::kThreads);
  CHECK(activity({0, 5}) == Activity::kOther);
  CHECK(activity({}) == Activity::kOther);
}

TEST_CASE("loaders of other libraries") {
  PythonStacks stacks = recorded({{StackThread::kMain, {0, 1}, 2, 0, 0}});
  for (const CodeLine& line :
       {CodeLine{"get_item", "spdl/pipeline/_pipeline.py", 1}, CodeLine{"__iter__", "streaming/base/dataset.py", 1},
        CodeLine{"iter_batches", "ray/data/iterator.py", 1}, CodeLine{"__next__", "petastorm/reader.py", 1},
        CodeLine{"__iter__", "fastai/data/load.py", 1}, CodeLine{"__next__", "grain/_src/python/data_loader.py", 1}}) {
    INFO(line.file);
    stacks.lines = {{"main", "/x/train.py", 1}, line};
    CHECK(share_of(stacks, StackThread::kMain, Activity::kInput) == Approx(0.2));
  }
  stacks.lines[1] = {"load_image", "spdl/io/_composite.py", 1};
  CHECK(share_of(stacks, StackThread::kMain, Activity::kDecode) == Approx(0.2));
}

TEST_CASE("exchanges with other ranks") {
  PythonStacks stacks = recorded({{StackThread::kMain, {0, 1}, 2, 0, 0}});
  for (const CodeLine& line :
       {CodeLine{"all_reduce", "torch/distributed/distributed_c10d.py", 1},
        CodeLine{"_sync_buffers", "torch/nn/parallel/distributed.py", 1},
        CodeLine{"synchronize", "horovod/torch/mpi_ops.py", 1}, CodeLine{"barrier", "deepspeed/comm/comm.py", 1}}) {
    stacks.lines = {{"main", "/x/train.py", 1}, line};
    CHECK(share_of(stacks, StackThread::kMain, Activity::kExchange) == Approx(0.2));
  }
  for (const CodeLine& line : {CodeLine{"save", "torch/distributed/checkpoint/state_dict_saver.py", 1},
                               CodeLine{"forward", "torch/nn/parallel/distributed.py", 1}}) {
    stacks.lines = {{"main", "/x/train.py", 1}, line};
    CHECK(share_of(stacks, StackThread::kMain, Activity::kExchange) == 0);
  }
}

TEST_CASE("calls of compiled functions are not compilation") {
  PythonStacks stacks = recorded({{StackThread::kMain, {0, 1}, 2, 0, 0}, {StackThread::kMain, {0, 1, 2}, 1, 0, 0}});
  const char* const file = "tensorflow/python/eager/polymorphic_function/tracing_compilation.py";
  stacks.lines = {{"main", "/x/train.py", 1}, {"call_function", file, 125}, {"_create_concrete_function", file, 295}};
  CHECK(share_of(stacks, StackThread::kMain, Activity::kCompile) == Approx(0.1));
}

TEST_CASE("shares of the time") {
  const PythonStacks stacks = recorded({{StackThread::kMain, {0, 1, 2}, 3, 0.5, 0},
                                        {StackThread::kMain, {0, 1}, 1, 0, 0},
                                        {StackThread::kMain, {7, 5}, 4, 0, 0},
                                        {StackThread::kMain, {7, 3}, 1.5, 2, 0},
                                        {StackThread::kMain, {0}, 0.5, 0.1, 0},
                                        {StackThread::kLoader, {0, 2}, 12, 0, 0}});
  CHECK(share_of(stacks, StackThread::kMain, Activity::kInput) == Approx(0.4));
  CHECK(share_of(stacks, StackThread::kMain, Activity::kDecode) == 0);
  CHECK(share_of(stacks, StackThread::kLoader, Activity::kDecode) == Approx(1.2));
  CHECK(share_within_input(stacks, Activity::kDecode) == Approx(0.3));
  const HotLine line = hottest_line(stacks, StackThread::kMain, Activity::kOther);
  CHECK(to_string(line.line) == "train.py:12 (augment)");
  CHECK(line.share == Approx(0.15));
  CHECK(to_string(caller_of(stacks, StackThread::kMain, Activity::kInput).line) == "train.py:40 (<module>)");
  CHECK(caller_of(stacks, StackThread::kMain, Activity::kLogging).share == 0);
  CHECK(share_of(PythonStacks{}, StackThread::kMain, Activity::kInput) == 0);
  CHECK(hottest_line(PythonStacks{}, StackThread::kMain, Activity::kOther).share == 0);
}

TEST_CASE("functions around checkpoints count as checkpoints, the training loop does not") {
  PythonStacks stacks = recorded({});
  stacks.lines = {{"main", "/home/me/train.py", 40},
                  {"store", "/home/me/train.py", 10},
                  {"save", "torch/serialization.py", 9},
                  {"store", "/home/me/train.py", 12},
                  {"backward", "torch/_tensor.py", 600}};
  stacks.stacks = {{StackThread::kMain, {0, 1, 2}, 1, 0, 0},  // torch.save() in store()
                   {StackThread::kMain, {0, 3}, 2, 0, 0},     // fsync() in store()
                   {StackThread::kMain, {0, 4}, 7, 0, 0}};
  CHECK(share_of(stacks, StackThread::kMain, Activity::kCheckpoint) == Approx(0.1));
  CHECK(stall_share(stacks, Activity::kCheckpoint) == Approx(0.3));
  CHECK(stall_share(stacks, Activity::kLogging) == 0);
  stacks.stacks[0].lines = {0, 2};  // called by the training loop
  CHECK(stall_share(stacks, Activity::kCheckpoint) == Approx(0.1));
  // A function that takes most of the time, while torch trains outside of it, is no training loop.
  stacks.stacks[0].lines = {0, 1, 2};
  stacks.stacks[1].seconds = 6;
  stacks.stacks[2].seconds = 3;
  CHECK(stall_share(stacks, Activity::kCheckpoint) == Approx(0.7));
  stacks.stacks[2].lines = {0};  // no framework is known: it may be one
  CHECK(stall_share(stacks, Activity::kCheckpoint) == Approx(0.1));
  stacks.stacks[2].lines = {0, 1, 4};  // it trains itself
  CHECK(stall_share(stacks, Activity::kCheckpoint) == Approx(0.1));
}

TEST_CASE("functions that load count completely, unless they train") {
  PythonStacks stacks;
  stacks.seconds = 10;
  stacks.lines = {{"main", "/home/me/train.py", 40},                          // 0
                  {"load", "/home/me/train.py", 9},                           // 1
                  {"urlopen", "/usr/lib/python3.11/urllib/request.py", 180},  // 2
                  {"load", "PIL/ImageFile.py", 300},                          // 3
                  {"backward", "torch/_tensor.py", 600},                      // 4
                  {"describe", "/home/me/train.py", 20}};                     // 5
  stacks.stacks = {{StackThread::kMain, {0, 1, 2}, 6, 0, 0}, {StackThread::kMain, {0, 1, 3}, 1, 0, 0},
                   {StackThread::kMain, {0, 1}, 1.5, 0, 0},  {StackThread::kMain, {0, 4}, 0.5, 0, 0},
                   {StackThread::kMain, {0, 5}, 0.6, 0, 0},  {StackThread::kMain, {0}, 0.4, 0, 0},
                   {StackThread::kHelper, {1, 2}, 9, 0, 0}};
  CHECK(loading_share(stacks) == Approx(0.85));
  CHECK(reading_share(stacks) == Approx(0.6));
  stacks.stacks[3].lines = {0, 1, 4};  // the function that loads trains, too
  CHECK(loading_share(stacks) == Approx(0.7));
  stacks.stacks[3].lines = {0};  // which function trains is not known
  CHECK(loading_share(stacks) == Approx(0.7));
  CHECK(loading_share({}) == 0);
}

TEST_CASE("the own time of a line that handles images") {
  PythonStacks stacks = recorded({});
  stacks.lines = {{"__getitem__", "/home/me/train.py", 28},
                  {"resize", "PIL/Image.py", 2440},
                  {"load", "PIL/ImageFile.py", 425},
                  {"__getitem__", "/home/me/train.py", 29}};
  stacks.stacks = {{StackThread::kLoader, {0, 1}, 1, 0, 0},
                   {StackThread::kLoader, {0, 2}, 2, 0, 0},
                   {StackThread::kLoader, {0}, 0.5, 0, 0},  // releases the images
                   {StackThread::kLoader, {3}, 0.7, 0, 0},  // something else
                   {StackThread::kMain, {0}, 9, 0, 0}};
  CHECK(own_share_of_image_lines(stacks, StackThread::kLoader) == Approx(0.5 / stacks.seconds));
  CHECK(own_share_of_image_lines(stacks, StackThread::kMain) == 0);
  CHECK(own_share_of_image_lines(PythonStacks{}, StackThread::kLoader) == 0);
}

TEST_CASE("the function that executes most Python code") {
  PythonStacks stacks = recorded({});
  stacks.lines = {{"main", "/home/me/train.py", 40},
                  {"wave", "/home/me/train.py", 10},
                  {"roll", "numpy/core/numeric.py", 9},
                  {"wave", "/home/me/train.py", 12},
                  {"forward", "torch/nn/modules/conv.py", 600}};
  stacks.stacks = {{StackThread::kMain, {0, 1, 2}, 0, 0.6, 0},
                   {StackThread::kMain, {0, 3}, 0, 0.9, 0},
                   {StackThread::kMain, {0, 4}, 0, 2, 0},
                   {StackThread::kMain, {0}, 0, 0.2, 0}};
  const HotFunction hot = hottest_python(stacks);
  CHECK(to_string(hot.line.line) == "train.py:12 (wave)");
  CHECK(hot.line.share == Approx(0.3));
  CHECK(hot.line_share > 0);
  CHECK(hot.line_share <= 1);
}

TEST_CASE("files of libraries and of the program") {
  for (const int library : {1, 2, 4, 5, 6, 8, 9}) CHECK(is_library(kLines[static_cast<std::size_t>(library)]));
  for (const int own : {0, 3, 7}) CHECK_FALSE(is_library(kLines[static_cast<std::size_t>(own)]));
  CHECK_FALSE(is_library({"f", "train.py", 1}));
  CHECK(is_library({"f", "", 1}));
}

TEST_CASE("the interpreter is used for all of the time, at most") {
  PythonStacks stacks;
  stacks.seconds = stacks.interpreter_s = 10;
  stacks.lines = {{"step", "/home/me/train.py", 7}};
  stacks.stacks = {{StackThread::kMain, {0}, 6, 6, 3}, {StackThread::kMain, {0}, 6, 6, 3}};
  CHECK(interpreter_share(stacks) == 1);
}

}  // namespace
}  // namespace unstarve
