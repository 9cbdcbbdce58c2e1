// Event files and charts; tests/python/interop reads them by TensorBoard.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/jobs/tensorboard/chart_image.h"
#include "unstarve/jobs/tensorboard/event_file.h"
#include "unstarve/jobs/tensorboard/training_events.h"
#include "unstarve/jobs/tensorboard/watch_events.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "unstarve-events-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

template <class Integer>
Integer little(const std::string& text, std::size_t at) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= static_cast<Integer>(static_cast<std::uint8_t>(text.at(at + i))) << 8 * i;
  return value;
}

std::uint32_t checksum(std::string_view bytes) {
  return mask_crc32c(crc32c_scalar({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}));
}

// The records of a file, after their checksums were compared.
std::vector<std::string> records_of(const fs::path& path) {
  const std::string text = read_text_file(path);
  std::vector<std::string> records;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = little<std::uint64_t>(text, at);
    REQUIRE(little<std::uint32_t>(text, at + 8) == checksum(std::string_view(text).substr(at, 8)));
    records.push_back(text.substr(at + 12, length));
    REQUIRE(little<std::uint32_t>(text, at + 12 + length) == checksum(records.back()));
    at += 16 + length;
  }
  return records;
}

}  // namespace

TEST_CASE("an event file has a version, and a record for each value as soon as it is written") {
  const Folder folder;
  EventFile events(folder.path / "run");
  REQUIRE(events.path().filename().string().starts_with("events.out.tfevents."));
  CHECK(records_of(events.path()).size() == 1);
  CHECK(records_of(events.path())[0].ends_with("brain.Event:2"));
  events.scalar("train/loss", 300, 1.5);
  const std::vector<std::string> records = records_of(events.path());
  REQUIRE(records.size() == 2);
  // Wall time (key 9, 8 bytes), step 300, then the summary with one value: tag and 1.5 as float.
  CHECK(records[1].substr(9) == std::string("\x10\xac\x02\x2a\x13\x0a\x11\x0a\x0atrain/loss\x15\x00\x00\xc0\x3f", 24));

  events.text("notes", 2, "**a**");
  // The value: tag, tensor of type 7 (string) and shape [1], plugin.
  CHECK(records_of(events.path()).at(2).substr(9) ==
        std::string("\x10\x02\x2a\x24\x0a\x22\x0a\x05notes\x42\x0f\x08\x07\x12\x04\x12\x02\x08\x01\x42\x05**a**"
                    "\x4a\x08\x0a\x06\x0a\x04text",
                    40));

  EventFile resumed(folder.path / "resumed", 300);
  CHECK(records_of(resumed.path()).at(1).substr(9) == std::string("\x10\xac\x02\x3a\x02\x08\x01", 7));
}

TEST_CASE("a watched run becomes scalars over seconds and steps, and a text of its findings") {
  const Folder folder;
  RunProfile profile;
  profile.watching.seconds = 4;
  profile.timeline = {2, {1, 0.5}, {0, 1}, {0, 0}, {1e6, 2e6}, {5e6, 6e6}};
  profile.steps = {"un.step()", 2, {0.5, 0.25}, 9};
  profile.stacks.seconds = 1;
  const std::vector<RunFinding> findings{{"few-workers", "the loader has one worker", "e", "c", 0.5, 2}};
  write_watch_events(folder.path, profile, findings);
  const std::vector<std::string> records = records_of(fs::directory_iterator(folder.path)->path());
  CHECK(records.size() == 1 + 2 * 5 + 2 * 2 + 1 + 1);
  const auto count = [&](const std::string& part) {
    return std::count_if(records.begin(), records.end(),
                         [&](const std::string& record) { return record.find(part) != std::string::npos; });
  };
  CHECK(count("watch/cores_main") == 2);
  CHECK(count("watch/step_seconds") == 2);
  CHECK(count("**the loader has one worker** (few-workers, 50 % of the time)") == 1);
}

TEST_CASE("the steps of a trace and their parts become scalars, of many steps as means") {
  const auto events_of = [](std::size_t steps) {
    RunProfile profile;
    profile.trace.emplace();
    for (std::size_t i = 0; i < steps; ++i) {
      profile.trace->steps.push_back({.seconds = 0.5, .parts = {0.2, 0, 0, 0, 0, 0.3}});
      profile.trace->parts[0] += 0.2;
      profile.trace->parts[5] += 0.3;
    }
    const Folder folder;
    write_watch_events(folder.path, profile, {});
    return records_of(fs::directory_iterator(folder.path)->path());
  };
  const auto count = [](const std::vector<std::string>& records, const std::string& part) {
    return std::count_if(records.begin(), records.end(),
                         [&](const std::string& record) { return record.find(part) != std::string::npos; });
  };
  const std::vector<std::string> few = events_of(7);
  CHECK(few.size() == 1 + 3 * 7 + 1);  // the version, step, kernel and loader, the findings
  CHECK(count(few, "trace/step_seconds") == 7);
  CHECK(count(few, "trace/loader_seconds") == 7);
  CHECK(count(few, "trace/findings") == 1);
  CHECK(count(few, "watch/") == 0);
  CHECK(count(events_of(2500), "trace/kernel_seconds") == 834);  // three steps each
  CHECK(events_of(0).size() == 2);
}

TEST_CASE("a timeline whose lists have different lengths becomes scalars of the points that all have") {
  const Folder folder;
  RunProfile profile;
  profile.timeline = {2, {1, 0.5}, {0}, {0, 0}, {1e6, 2e6}, {5e6, 6e6}};
  write_watch_events(folder.path, profile, {});
  CHECK(records_of(fs::directory_iterator(folder.path)->path()).size() == 1 + 5 + 1);
}

TEST_CASE("scalars of a recording are written to the folder of their run, and its text to the folder itself") {
  const Folder folder;
  Recording recording;
  recording.scalars = {{"a/x", {{1, 2.0}, {2, 3.0}}}, {"a/y", {{1, 4.0}}}, {"a/x", {{1, 5.0}}, "before"}};
  recording.text_tag = "a/text";
  recording.text = "**b**";
  write_recording_events(folder.path, recording);
  const auto records_in = [](const fs::path& path) {
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.is_regular_file()) return records_of(entry.path()).size();
    return std::size_t{0};
  };
  CHECK(records_in(folder.path) == 1 + 3 + 1);
  CHECK(records_in(folder.path / "before") == 1 + 1);
}

TEST_CASE("of steps whose period alone is known, the rate is a scalar") {
  const Folder folder;
  RunProfile profile;
  profile.steps = {"the period", 2, {}, 0};
  write_watch_events(folder.path, profile, {});
  const std::vector<std::string> records = records_of(fs::directory_iterator(folder.path)->path());
  CHECK(std::count_if(records.begin(), records.end(), [](const std::string& record) {
          return record.find("watch/steps_per_s") != std::string::npos;
        }) == 1);
}

TEST_CASE("a folder that cannot be created is an error with its path") {
  const Folder folder;
  write_file_atomically(folder.path / "file", "");
  const std::string message =
      testing::error_message([&] { EventFile events(folder.path / "file" / "run"); }, ErrorKind::kIo);
  CHECK_THAT(message, Catch::Contains((folder.path / "file" / "run").string()));
}

TEST_CASE("events of a training that cannot be written are one notice") {
  const bool finishes_early = GENERATE(false, true);
  const Folder folder;
  std::vector<std::string> notices;
  set_notice_sink([&](const std::string& text) { notices.push_back(text); });
  TrainingEvents events(folder.path, 0);
  TrainHistory history;
  for (int step = 1; step <= 3; ++step) history.points.push_back({.step = step, .loss = 1.0 / step});
  // No file of this process can grow, as on a full disk.
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const ::rlimit none{1, before.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  events.update(history);
  events.update(history);
  if (finishes_early)
    events.finish_early();
  else
    events.finish(history);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  set_notice_sink({});
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices[0], Catch::StartsWith("events of TensorBoard not written: write ") &&
                             Catch::Contains(folder.path.string()) &&
                             Catch::EndsWith("training continues without them"));
}

TEST_CASE("ticks are round numbers within the range") {
  CHECK(tick_positions(0, 1, 6) == std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1});
  CHECK(tick_positions(-6, 1, 6) == std::vector<double>{-6, -4, -2, 0});
  for (const double low : {-1e6, -3.7, 0.0, 1e-9, 12.0}) {
    for (const double width : {1e-6, 0.3, 7.0, 12345.0}) {
      const std::vector<double> ticks = tick_positions(low, low + width, 6);
      CHECK(ticks.size() >= 2);
      CHECK(ticks.size() <= 6);
      for (const double tick : ticks) {
        CHECK(tick >= low - width * 1e-6);
        CHECK(tick <= low + width * (1 + 1e-6));
      }
    }
  }
}

TEST_CASE("a chart draws its line inside the axes, and leaves out what is not finite") {
  const auto coloured = [](const Image& image) {
    std::size_t count = 0;
    for (int y = 0; y < image.size().height; ++y)
      for (int x = 0; x < image.size().width; ++x) count += image.row(y)[3 * x + 2] == 189 ? 1 : 0;
    return count;
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<ChartPoint> rising{{1, 0}, {10, 1}, {100, 2}};
  CHECK(coloured(draw_chart({})) == 0);
  CHECK(coloured(draw_chart(std::vector<ChartPoint>{{1, kNan}, {kNan, 2}})) == 0);
  CHECK(coloured(draw_chart(rising)) > 500);
  const Image constant = draw_chart(std::vector<ChartPoint>{{0, 5}, {9, 5}});
  CHECK(coloured(constant) > 500);
}

}  // namespace unstarve
