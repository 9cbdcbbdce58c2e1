// The building blocks of pack and verify.
#include <fmt/format.h>
#include <sys/resource.h>

#include <barrier>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <thread>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/jobs/common/ordered_work.h"
#include "unstarve/jobs/pack/pack_file.h"
#include "unstarve/jobs/pack/pack_folder.h"
#include "unstarve/jobs/pack/pack_manifest.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

TEST_CASE("results are consumed in order for any number of threads") {
  for (const int threads : {1, 2, 7}) {
    for (const std::uint64_t window : {1u, 3u, 50u}) {
      std::vector<std::uint64_t> slots(window), taken;
      run_in_order(
          {100, threads, window},
          [&]() -> OrderedWorker { return [&](std::uint64_t item, std::size_t slot) { slots[slot] = item * item; }; },
          [&](std::uint64_t, std::size_t slot) { taken.push_back(slots[slot]); });
      REQUIRE(taken.size() == 100);
      for (std::uint64_t i = 0; i < 100; ++i) CHECK(taken[i] == i * i);
    }
  }
}

TEST_CASE("the first failure in order is rethrown after all earlier items were consumed") {
  for (int run = 0; run < 20; ++run) {
    std::uint64_t taken = 0;
    const auto make_worker = []() -> OrderedWorker {
      return [](std::uint64_t item, std::size_t) {
        if (item >= 20) throw Error(ErrorKind::kInput, "item " + std::to_string(item));
      };
    };
    CHECK_THROWS_WITH(run_in_order({1000, 4, 16}, make_worker, [&](std::uint64_t, std::size_t) { ++taken; }),
                      "item 20");
    CHECK(taken == 20);
  }
  const auto unmade = []() -> OrderedWorker { throw Error(ErrorKind::kMissing, "no worker"); };
  CHECK_THROWS_WITH(run_in_order({10, 2, 4}, unmade, [](std::uint64_t, std::size_t) {}), "no worker");
  const auto idle = []() -> OrderedWorker { return [](std::uint64_t, std::size_t) {}; };
  CHECK_THROWS_WITH(
      run_in_order({10, 2, 4}, idle, [](std::uint64_t, std::size_t) { throw std::runtime_error("full"); }), "full");
  run_in_order({0, 2, 4}, unmade, [](std::uint64_t, std::size_t) {});
}

TEST_CASE("a stop request ends ordered work") {
  std::stop_source stop;
  std::uint64_t taken = 0;
  const auto idle = []() -> OrderedWorker { return [](std::uint64_t, std::size_t) {}; };
  CHECK_THROWS_AS(run_in_order(
                      {1'000'000'000, 2, 4}, idle,
                      [&](std::uint64_t, std::size_t) {
                        if (++taken == 100) stop.request_stop();
                      },
                      stop.get_token()),
                  Error);
  CHECK(taken < 1000);
}

TEST_CASE("a file has its final name only when complete") {
  TemporaryFolder folder;
  folder.folder("work");
  const fs::path final_path = folder.path() / "a.tar", work = folder.path() / "work";
  std::string expected;
  {
    PackFile file(final_path, work, PackFile::Writers::kOne);
    for (int i = 0; i < 300; ++i) {
      const std::string piece(static_cast<std::size_t>(i * 97 % 40'000), static_cast<char>(i));
      file.write(piece);
      expected += piece;
      CHECK_FALSE(fs::exists(final_path));
    }
    const std::string large(3 << 20, 'x');
    file.write(large);
    expected += large;
    CHECK(file.position() == expected.size());
    CHECK_THROWS_WITH(PackFile(final_path, work, PackFile::Writers::kOne),
                      Catch::Contains("another process is writing"));
    file.publish();
    CHECK(file.sum() == sum_of("a.tar", expected));
  }
  CHECK(read_text_file(final_path) == expected);
  CHECK(fs::is_empty(work));

  { PackFile given_up(folder.path() / "b.tar", work, PackFile::Writers::kOne); }
  CHECK_FALSE(fs::exists(folder.path() / "b.tar"));
  CHECK(fs::is_empty(work));

  // The leftover of a killed run is overwritten, not continued.
  folder.write("work/c.partial", std::string(100, 'o'));
  {
    PackFile file(folder.path() / "c", work, PackFile::Writers::kOne);
    file.write(std::string_view("new"));
    file.publish();
  }
  CHECK(read_text_file(folder.path() / "c") == "new");
  CHECK_THROWS_WITH(publish_text(folder.path() / "nowhere/d", folder.path() / "nowhere", "x"),
                    Catch::Contains("nowhere/d"));
}

TEST_CASE("a writer whose partial file was deleted does not publish the file of another writer") {
  for (const PackFile::Writers writers : {PackFile::Writers::kOne, PackFile::Writers::kMany}) {
    const TemporaryFolder folder;
    const fs::path work = folder.path() / "work", final_path = folder.path() / "manifest.json";
    fs::create_directory(work);
    PackFile first(final_path, work, writers);
    first.write(std::string_view("first"));
    fs::remove_all(work);
    fs::create_directory(work);
    PackFile second(final_path, work, writers);
    second.write(std::string_view("second"));
    CHECK_THROWS_WITH(first.publish(), Catch::Contains("manifest.json: No such file or directory"));
    CHECK_FALSE(fs::exists(final_path));
    second.publish();
    CHECK(read_text_file(final_path) == "second");
  }
}

// Writing fails in the middle of the file, as on a full disk (tested for real by
// tests/python/errors/test_full_disk.py).
TEST_CASE("a failed write is reported as one error and leaves no file") {
  TemporaryFolder folder;
  folder.folder("work");
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small{1 << 20, limit.rlim_max};
  {
    PackFile file(folder.path() / "x.tar", folder.path() / "work", PackFile::Writers::kOne);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK_THROWS_WITH(file.write(std::string(2 << 20, 'x')),
                      Catch::StartsWith("write " + folder.str("x.tar") + ": File too large after "));
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::signal(SIGXFSZ, before);
  CHECK_FALSE(fs::exists(folder.path() / "x.tar"));
  CHECK(fs::is_empty(folder.path() / "work"));
}

PackManifest some_manifest() {
  PackManifest manifest;
  manifest.version = "0.1.0";
  manifest.format = "recordio";
  manifest.options = R"({"resize":0})";
  manifest.source = R"({"records":3})";
  manifest.classes = {"cat", "d\"og"};
  manifest.split_names = {"train", "val"};
  manifest.shards = {
      {{"train-00000.rec", 10, 0x12345678}, {"train-00000.idx", 4, 7}, "train", 2, {}},
      {{"val-00000.rec", 5, 0}, {"val-00000.idx", 2, 9}, "val", 1, {{.file = "a b", .offset = 3, .reason = "cut"}}}};
  return manifest;
}

TEST_CASE("a manifest is unchanged after writing and reading") {
  const PackManifest manifest = some_manifest();
  const PackManifest read = manifest_from_json(to_json(manifest), "m");
  CHECK(read.shards == manifest.shards);
  CHECK(read.classes == manifest.classes);
  CHECK(read.split_names == manifest.split_names);
  CHECK(read.format == "recordio");
  CHECK(to_json(read) == to_json(manifest));
  CHECK(shard_entry_from_json(to_json(manifest.shards[1]), "m") == manifest.shards[1]);
}

TEST_CASE("a truncated or inconsistent manifest is rejected") {
  const std::string text = to_json(some_manifest());
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    try {
      (void)manifest_from_json(text.substr(0, length), "m.json");
      FAIL("taken at " << length);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
    }
  }
  const auto rejected = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    changed.replace(at, from.size(), to);
    CHECK_THROWS_AS(manifest_from_json(changed, "m.json"), Error);
  };
  rejected("\"records\": 3", "\"records\": 4");
  rejected("\"records\": 2", "\"records\": 5");
  rejected("\"bytes\": 15", "\"bytes\": -15");
  rejected("12345678", "1234567");
  rejected("12345678", "1234567g");
  rejected("train-00000.rec", "../x");
  rejected("train-00000.rec", "a/x");
  rejected("train-00000.idx", "/etc/passwd");
  rejected("\"split\": \"val\"", "\"split\": \"other\"");
  rejected("[\n  \"cat\"", "[\n  7, \"cat\"");
}

TEST_CASE("parts that start at the same time in a new folder share it") {
  TemporaryFolder folder;
  PackManifest plan = some_manifest();
  plan.shards.clear();
  std::vector<std::string> rejected(4);
  for (int round = 0; round < 300; ++round) {
    const fs::path dst = folder.path() / std::to_string(round);
    fs::create_directory(dst);
    std::barrier together(std::ssize(rejected));
    {
      std::vector<std::jthread> parts;
      for (std::string& reason : rejected) {
        parts.emplace_back([&] {
          together.arrive_and_wait();
          try {
            const PackFolder part(dst, plan, 2);
          } catch (const Error& error) {
            reason = error.what();
          }
        });
      }
    }
    REQUIRE(rejected == std::vector<std::string>(rejected.size()));
  }
}

TEST_CASE("parts that finish at the same time both find the pack complete") {
  TemporaryFolder folder;
  PackManifest plan = some_manifest();
  std::vector<ShardEntry> shards = std::exchange(plan.shards, {});
  // Enough files that two parts remove them at the same time.
  for (int i = 1; i <= 20; ++i)
    shards.push_back(
        {{fmt::format("train-{:05}.rec", i), 10, 1}, {fmt::format("train-{:05}.idx", i), 4, 7}, "train", 2, {}});
  std::vector<std::string> files;
  for (const ShardEntry& entry : shards) files.push_back(entry.shard.file);
  std::vector<std::string> outcome(4);
  for (int round = 0; round < 400; ++round) {
    const fs::path dst = folder.path() / std::to_string(round);
    std::vector<std::unique_ptr<PackFolder>> parts;
    for (std::size_t i = 0; i < outcome.size(); ++i)
      parts.push_back(std::make_unique<PackFolder>(dst, plan, shards.size()));
    for (const ShardEntry& entry : shards) {
      folder.write(std::to_string(round) + "/" + entry.shard.file, std::string(entry.shard.bytes, 'x'));
      folder.write(std::to_string(round) + "/" + entry.index.file, std::string(entry.index.bytes, 'x'));
      folder.write(std::to_string(round) + "/.unstarve-pack/" + entry.shard.file + ".json", to_json(entry));
    }
    std::barrier together(std::ssize(outcome));
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < outcome.size(); ++i) {
        threads.emplace_back([&, i] {
          together.arrive_and_wait();
          // At any point of the work of the first part.
          std::this_thread::sleep_for(std::chrono::microseconds(i * static_cast<std::size_t>(round) * 5));
          try {
            outcome[i] = parts[i]->complete(files) ? "complete" : "not complete";
          } catch (const Error& error) {
            outcome[i] = error.what();
          }
        });
      }
    }
    REQUIRE(outcome == std::vector<std::string>(outcome.size(), "complete"));
    REQUIRE(manifest_from_json(read_text_file(dst / kManifestName), "m").shards == shards);
    REQUIRE_FALSE(fs::exists(dst / ".unstarve-pack"));
  }
}

}  // namespace
}  // namespace unstarve
