#include "unstarve/diagnose/cupti/nvtx_ranges.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "unstarve/diagnose/cupti/range_fixture.h"

namespace unstarve {
namespace {

// A program with NVTX: its function pointers, and the tables of their addresses.
NvtxFunction own_core[16], own_core2[16];
NvtxFunction* core_entries[16];
NvtxFunction* core2_entries[16];
unsigned core_count = 16, core2_count = 16;

const void* export_table(std::uint32_t id) {
  static const NvtxTables tables{sizeof(NvtxTables), [](int module, NvtxFunction*** table, unsigned* entries) {
                                   if (module != kNvtxCore && (module != kNvtxCore2 || core2_count == 0)) return 0;
                                   *table = module == kNvtxCore ? core_entries : core2_entries;
                                   *entries = module == kNvtxCore ? core_count : core2_count;
                                   return 1;
                                 }};
  return id == kNvtxCallbacks ? &tables : nullptr;
}

bool attach_own(unsigned core = 16, unsigned core2 = 16) {
  core_count = core;
  core2_count = core2;
  for (unsigned i = 0; i < 16; ++i) {
    own_core[i] = own_core2[i] = nullptr;
    core_entries[i] = &own_core[i];
    core2_entries[i] = &own_core2[i];
  }
  return attach_nvtx(export_table);
}

int push(const char* name) { return reinterpret_cast<int (*)(const char*)>(own_core[kNvtxRangePushA])(name); }
int pop() { return reinterpret_cast<int (*)()>(own_core[kNvtxRangePop])(); }
int push_in(const void* domain, const NvtxAttributes& attributes) {
  return reinterpret_cast<int (*)(const void*, const NvtxAttributes*)>(own_core2[kNvtxDomainRangePushEx])(domain,
                                                                                                          &attributes);
}
int pop_in(const void* domain) {
  return reinterpret_cast<int (*)(const void*)>(own_core2[kNvtxDomainRangePop])(domain);
}
std::uint64_t start(const char* name) {
  return reinterpret_cast<std::uint64_t (*)(const char*)>(own_core[kNvtxRangeStartA])(name);
}
void end(std::uint64_t range) { reinterpret_cast<void (*)(std::uint64_t)>(own_core[kNvtxRangeEnd])(range); }

NvtxAttributes named(const char* name) {
  NvtxAttributes attributes{};
  attributes.bytes = sizeof attributes;
  attributes.message_type = kNvtxAscii;
  attributes.message.ascii = name;
  return attributes;
}

using Names = std::vector<std::string>;

TEST_CASE("an instance of NVTX gets the functions that it knows") {
  CHECK_FALSE(attach_nvtx(nullptr));
  CHECK_FALSE(attach_nvtx([](std::uint32_t) -> const void* { return nullptr; }));
  REQUIRE(attach_own());
  CHECK(nvtx_is_attached());
  CHECK(std::count(own_core, own_core + 16, nullptr) == 8);  // marks and names of threads and categories are not used
  CHECK(std::count(own_core2, own_core2 + 16, nullptr) == 8);
  REQUIRE(attach_own(kNvtxRangePushA + 1, 0));  // an old one
  CHECK(own_core[kNvtxRangePushA] != nullptr);
  CHECK(own_core[kNvtxRangePop] == nullptr);
  CHECK(std::count(own_core2, own_core2 + 16, nullptr) == 16);
}

TEST_CASE("nested ranges, and those of domains") {
  REQUIRE(attach_own());
  int one = 0, two = 0;
  const RecordedRanges recorded = ranges_recorded([&] {
    CHECK(push("step") == kNvtxNotTracked);
    push_in(&one, named("a"));
    push("load");
    push_in(&two, named("b"));
    pop_in(&one);  // domains are independent of each other
    CHECK(pop() == kNvtxNotTracked);
    pop_in(&two);
    pop();
    pop();  // without a push
    pop_in(&one);
  });
  CHECK(recorded.all);
  CHECK(recorded.names() == Names{"a", "load", "b", "step"});
  const auto& step = recorded.list[3];
  for (const RecordedRange& range : recorded.list) {
    CHECK(range.begin_ns >= step.begin_ns);
    CHECK(range.begin_ns < range.end_ns);
    CHECK(range.end_ns <= step.end_ns);
    CHECK(range.lane == step.lane);
  }
}

TEST_CASE("only ranges within a window are recorded") {
  REQUIRE(attach_own());
  push("before");
  std::uint64_t started = start("before");
  CHECK(started == 0);
  RecordedRanges recorded = ranges_recorded([&] {
    push("within");
    pop();
    pop();  // `before`
    end(started);
    push("ends after");
    started = start("ends after");
    CHECK(started != 0);
  });
  CHECK(recorded.names() == Names{"within"});
  pop();
  push("outer");
  recorded = ranges_recorded([&] {
    push("again");
    pop();
    pop();  // `outer`, not what was open in the window before
    end(started);
  });
  CHECK(recorded.names() == Names{"again"});
}

TEST_CASE("names that differ only in numbers are one name") {
  REQUIRE(attach_own());
  const RecordedRanges recorded = ranges_recorded([] {
    for (int i = 95; i < 1005; ++i) {
      push(("step " + std::to_string(i) + ", loss 0." + std::to_string(3 * i)).c_str());
      pop();
    }
    push("step");
    pop();
    push(std::string(1000, 'x').c_str());
    pop();
    push("");
    pop();
    push(nullptr);
    pop();
  });
  REQUIRE(recorded.list.size() == 912);
  CHECK(recorded.texts ==
        std::map<std::string, int>{{"step 95, loss 0.285", 1}, {"step", 1}, {std::string(63, 'x'), 1}});
}

TEST_CASE("wide, registered and unknown messages") {
  REQUIRE(attach_own());
  const auto register_wide =
      reinterpret_cast<const void* (*)(const void*, const wchar_t*)>(own_core2[kNvtxDomainRegisterStringW]);
  const auto create = reinterpret_cast<const void* (*)(const char*)>(own_core2[kNvtxDomainCreateA]);
  const void* const domain = create("library");  // outside of windows
  NvtxAttributes registered = named(nullptr), wide = named(nullptr), none = named("none"), wrong = named("wrong");
  registered.message_type = kNvtxRegistered;
  registered.message.registered = register_wide(domain, L"registered \u20ac");
  wide.message_type = kNvtxWide;
  wide.message.wide = L"wide";
  none.message_type = 0;
  wrong.bytes = 8;  // of a version without message
  NvtxAttributes foreign = registered;
  foreign.message.registered = &foreign;
  NvtxAttributes null = registered;
  null.message.registered = nullptr;
  const RecordedRanges recorded = ranges_recorded([&] {
    for (const NvtxAttributes& attributes : {registered, wide, none, wrong, foreign, null}) {
      push_in(domain, attributes);
      pop_in(domain);
    }
  });
  CHECK(recorded.names() == Names{"registered ?", "wide"});
}

TEST_CASE("a range that another thread ends") {
  REQUIRE(attach_own());
  const RecordedRanges recorded = ranges_recorded([] {
    const std::uint64_t a = start("a"), b = start("b");
    usleep(2000);
    std::thread([&] { end(a); }).join();
    end(b);
    end(0);
  });
  REQUIRE(recorded.names() == Names{"a", "b"});
  CHECK(recorded.list[0].lane != recorded.list[1].lane);
  for (const RecordedRange& range : recorded.list) {
    const auto length = range.end_ns - range.begin_ns;
    CHECK(length >= 2'000'000);
    CHECK(length < 1'000'000'000);
  }
}

TEST_CASE("ranges that are nested too deeply are left out") {
  REQUIRE(attach_own());
  const RecordedRanges recorded = ranges_recorded([] {
    for (int i = 0; i < 70; ++i) push(i < 64 ? "outer" : "inner");
    for (int i = 0; i < 70; ++i) pop();
    push("after");
    pop();
  });
  CHECK(recorded.list.size() == 65);
  CHECK_FALSE(recorded.texts.contains("inner"));
}

TEST_CASE("threads") {
  REQUIRE(attach_own());
  constexpr int kThreads = 4, kEach = 5000;
  const RecordedRanges recorded = ranges_recorded([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        const std::string name = std::string("thread ") + static_cast<char>('a' + t);
        for (int i = 0; i < kEach; ++i) {
          push(name.c_str());
          pop();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  CHECK(recorded.all);
  CHECK(recorded.list.size() == kThreads * kEach);
  std::map<std::string, std::vector<RecordedRange>> by_name;
  for (const RecordedRange& range : recorded.list) by_name[range.name].push_back(range);
  CHECK(by_name.size() == kThreads);
  for (const auto& [name, ranges] : by_name) {
    CHECK(ranges.size() == kEach);
    for (std::size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].begin_ns < ranges[i - 1].end_ns || ranges[i].lane != ranges[0].lane) FAIL(name);
  }
}

TEST_CASE("a window with more ranges than can be stored is marked") {
  REQUIRE(attach_own());
  const auto many = [](int count) {
    for (int i = 0; i < count; ++i) {
      push("many");
      pop();
    }
  };
  RecordedRanges recorded = ranges_recorded([&] { many(40'000); });
  CHECK_FALSE(recorded.all);
  CHECK(recorded.list.size() == 32'768);
  recorded = ranges_recorded([&] { many(100); });
  CHECK(recorded.all);
  CHECK(recorded.list.size() == 100);
  // Of the file.
  const testing::TemporaryFolder folder;
  KernelLog log;
  REQUIRE(log.open(folder.path().c_str()));
  forget_ranges();
  for (std::size_t written = 0; written < kMostRanges; written += 20'000) {
    open_ranges();
    many(20'000);
    close_ranges();
    CHECK(write_ranges(log) == (written + 20'000 < kMostRanges));
  }
  CHECK_FALSE(log.is_full());
  forget_ranges();
}

TEST_CASE("more names than the table has") {
  REQUIRE(attach_own());
  const pid_t child = fork();  // the table is never emptied
  if (child == 0) {
    const RecordedRanges recorded = ranges_recorded([] {
      push("early");
      pop();
      for (int i = 0; i < 20'000; ++i) {
        std::string name;
        for (int rest = i; rest > 0; rest /= 26) name += static_cast<char>('a' + rest % 26);
        push(("name " + name).c_str());
        pop();
      }
      push("early");
      pop();
    });
    const bool good = recorded.all && recorded.list.back().name == "early" && recorded.texts.size() > 3000 &&
                      recorded.texts.size() <= kMostRangeNames;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace unstarve
