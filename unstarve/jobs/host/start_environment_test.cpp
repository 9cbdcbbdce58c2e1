// Environments for host settings. tests/python/cli/test_host_settings.py starts processes with them.

#include "unstarve/jobs/host/start_environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/testing/error_message.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

HostFacts facts(Environment user = {}) {
  return {std::move(user),
          {{HeapAllocator::kJemalloc, "/lib/libjemalloc.so.2"}, {HeapAllocator::kMimalloc, "/lib/libmimalloc.so.2"}}};
}

HostSettings with(HeapAllocator allocator, bool huge_pages = false) {
  HostSettings settings;
  settings.allocator = allocator;
  settings.huge_pages = huge_pages;
  return settings;
}

HostSettings with(WaitPolicy policy) {
  HostSettings settings;
  settings.wait_policy = policy;
  return settings;
}

TEST_CASE("a wait policy is a variable of OpenMP and needs no start") {
  CHECK(environment_for(with(WaitPolicy::kPassive), facts()).variables == Environment{{"OMP_WAIT_POLICY", "passive"}});
  CHECK(environment_for(with(WaitPolicy::kActive), facts()).variables.empty());
  const StartEnvironment brief = environment_for(with(WaitPolicy::kBrief), facts());
  CHECK(brief.variables.contains("GOMP_SPINCOUNT"));
  CHECK_FALSE(brief.needs_start);
}

TEST_CASE("an allocator is preloaded after the user's libraries") {
  const StartEnvironment start = environment_for(with(HeapAllocator::kJemalloc), facts({{"LD_PRELOAD", "/lib/my.so"}}));
  CHECK(start.variables.at("LD_PRELOAD") == "/lib/my.so:/lib/libjemalloc.so.2");
  CHECK(start.needs_start);
  CHECK(start.library == "/lib/libjemalloc.so.2");
}

TEST_CASE("an allocator that the machine lacks is an error with its package") {
  const std::string message = testing::error_message(
      [] { (void)environment_for(with(HeapAllocator::kTcmalloc), facts()); }, ErrorKind::kMissing);
  CHECK_THAT(message, Catch::Contains("libtcmalloc_minimal.so.4") && Catch::Contains("libtcmalloc-minimal4"));
}

TEST_CASE("huge pages are requested from libtorch and from the heap's allocator") {
  const StartEnvironment system =
      environment_for(with(HeapAllocator::kSystem, true), facts({{"GLIBC_TUNABLES", "glibc.malloc.arena_max=2"}}));
  CHECK(system.variables.at("THP_MEM_ALLOC_ENABLE") == "1");
  CHECK(system.variables.at("GLIBC_TUNABLES") == "glibc.malloc.arena_max=2:glibc.malloc.hugetlb=1");
  CHECK(system.needs_start);
  const StartEnvironment jemalloc = environment_for(with(HeapAllocator::kJemalloc, true), facts());
  CHECK(jemalloc.variables.at("MALLOC_CONF") == "thp:always");
  CHECK_FALSE(jemalloc.variables.contains("GLIBC_TUNABLES"));
}

TEST_CASE("variables of the user win, and a notice names the setting that they replace") {
  const auto ignored = [](const HostSettings& settings, Environment user, std::size_t notices = 1) {
    const StartEnvironment start = environment_for(settings, facts(std::move(user)));
    CHECK(start.variables.empty());
    CHECK_FALSE(start.needs_start);
    REQUIRE(start.ignored.size() == notices);
    return fmt::format("{}", fmt::join(start.ignored, "\n"));
  };
  CHECK_THAT(ignored(with(WaitPolicy::kBrief), {{"GOMP_SPINCOUNT", "7"}}),
             Catch::Contains("wait_policy brief") && Catch::Contains("GOMP_SPINCOUNT=7"));
  HostSettings allocator;
  allocator.wait_policy = WaitPolicy::kActive;
  allocator.allocator = HeapAllocator::kJemalloc;
  CHECK_THAT(ignored(allocator, {{"LD_PRELOAD", "/opt/libtcmalloc.so.4"}}), Catch::Contains("allocator jemalloc"));
  HostSettings pages;
  pages.wait_policy = WaitPolicy::kActive;
  pages.huge_pages = true;
  CHECK_THAT(ignored(pages, {{"THP_MEM_ALLOC_ENABLE", "0"}, {"GLIBC_TUNABLES", "glibc.malloc.hugetlb=0"}}, 2),
             Catch::Contains("THP_MEM_ALLOC_ENABLE=0") && Catch::Contains("GLIBC_TUNABLES=glibc.malloc.hugetlb=0"));
}

TEST_CASE("huge pages that an allocator cannot request are reported") {
  const auto ignored = [](HeapAllocator allocator, Environment user) {
    const StartEnvironment start = environment_for(with(allocator, true), facts(std::move(user)));
    return fmt::format("{}", fmt::join(start.ignored, "\n"));
  };
  CHECK_THAT(ignored(HeapAllocator::kJemalloc, {{"MALLOC_CONF", "narenas:2"}}),
             Catch::Contains("huge_pages of the heap") && Catch::Contains("MALLOC_CONF=narenas:2"));
  CHECK(ignored(HeapAllocator::kJemalloc, {{"MALLOC_CONF", "thp:always"}}).empty());
  CHECK(ignored(HeapAllocator::kSystem, {{"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"}}).empty());
  HostFacts with_tcmalloc = facts();
  with_tcmalloc.allocators.push_back({HeapAllocator::kTcmalloc, "/lib/libtcmalloc_minimal.so.4"});
  const auto notices = environment_for(with(HeapAllocator::kTcmalloc, true), with_tcmalloc).ignored;
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices[0], Catch::Contains("tcmalloc has no such setting"));
}

TEST_CASE("a process that was started with an environment needs nothing more") {
  for (const WaitPolicy policy : {WaitPolicy::kPassive, WaitPolicy::kBrief, WaitPolicy::kActive}) {
    for (const HeapAllocator allocator : {HeapAllocator::kSystem, HeapAllocator::kJemalloc, HeapAllocator::kMimalloc}) {
      for (const bool pages : {false, true}) {
        HostSettings settings = with(allocator, pages);
        settings.wait_policy = policy;
        Environment user{{"LD_PRELOAD", "/lib/my.so"}};
        for (const auto& [name, value] : environment_for(settings, facts(user)).variables) user[name] = value;
        const StartEnvironment again = environment_for(settings, facts(user));
        CHECK(again.variables.empty());
        CHECK_FALSE(again.needs_start);
        CHECK(again.ignored.empty());
      }
    }
  }
}

TEST_CASE("allocators are found by their file names, in the order of the folders") {
  std::string name = (fs::temp_directory_path() / "unstarve-allocators-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const fs::path root = name;
  for (const char* const folder : {"a", "b"}) fs::create_directory(root / folder);
  write_file_atomically(root / "b" / "libjemalloc.so.2", "");
  write_file_atomically(root / "b" / "libmimalloc.so.2", "");
  write_file_atomically(root / "a" / "libmimalloc.so.2", "");
  const auto found = find_allocators({(root / "a").string(), (root / "b").string(), (root / "none").string()});
  fs::remove_all(root);
  REQUIRE(found.size() == 2);
  CHECK(found[0].path == (root / "b" / "libjemalloc.so.2").string());
  CHECK(found[1].name == HeapAllocator::kMimalloc);
  CHECK(found[1].path == (root / "a" / "libmimalloc.so.2").string());
}

TEST_CASE("a library counts as loaded only if it is") {
  CHECK(is_loaded("libc.so.6"));
  CHECK_FALSE(is_loaded("/no/such/library.so"));
}

}  // namespace
}  // namespace unstarve
