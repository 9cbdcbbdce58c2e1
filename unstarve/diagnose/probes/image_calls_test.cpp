// Calls of libraries in C that decode images, which have no frames.

#include <catch2/catch.hpp>

#include "unstarve/diagnose/probes/stack_recording.h"
#include "unstarve/diagnose/profile/stack_shares.h"

namespace unstarve {
namespace {

TEST_CASE("lines that call OpenCV decode images, or change them") {
  StackRecording recording;
  recording.interval_s = 1;
  recording.lines = {{"main", "/home/me/t.py", 1},
                     {"batch", "/home/me/t.py", 2},
                     {"batch", "/home/me/t.py", 3},
                     {"batch", "/home/me/t.py", 4},
                     {"backward", "torch/_tensor.py", 2}};
  recording.threads = {{72, true, {{0, 1}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {}}}};
  int reads = 0;
  add_image_calls(recording, [&](const std::string&) -> std::optional<std::string> {
    ++reads;
    return "main()\nimage = cv2.imread(path)\nreturn cv2.resize(image, (8, 8))\nwork()  # cv2.imread()\n";
  });
  CHECK(reads == 1);
  StackSum sum;
  sum.add(recording, 72, RecordingKind::kAll, 6, 6);
  const PythonStacks stacks = sum.stacks();
  CHECK(share_of(stacks, StackThread::kMain, Activity::kDecode) == Approx(2.0 / 6));
  CHECK(share_of(stacks, StackThread::kMain, Activity::kPixels) == Approx(1.0 / 6));
  CHECK(caller_of(stacks, StackThread::kMain, Activity::kDecode).line.line == 2);
  add_image_calls(recording, [](const std::string&) { return std::nullopt; });  // the file is gone
}

}  // namespace
}  // namespace unstarve
