#include "unstarve/diagnose/traces/kernel_period.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

namespace unstarve {
namespace {

// One letter is one kernel; '|' ends a window.
std::vector<KernelStart> starts_of(const std::string& kernels) {
  std::vector<KernelStart> starts;
  std::uint32_t window = 0;
  for (const char kernel : kernels) {
    if (kernel == '|')
      ++window;
    else
      starts.push_back({static_cast<std::uint32_t>(kernel), window});
  }
  return starts;
}

// The kernel with which steps begin; '-': none.
char found(const std::string& kernels) {
  const std::vector<KernelStart> starts = starts_of(kernels);
  const std::vector<std::size_t> begins = step_begins(starts);
  return begins.empty() ? '-' : static_cast<char>(starts[begins[0]].kernel);
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST_CASE("the kernel that begins a repeated sequence") {
  CHECK(found("") == '-');
  CHECK(found("abcd") == '-');
  CHECK(found(repeated("abcd", 4)) == '-');  // too few
  CHECK(found(repeated("abcd", 6)) == 'a');
  CHECK(found("cd" + repeated("abcd", 6)) == 'c');  // the trace begins within a step
  CHECK(found(repeated("a", 20)) == 'a');
  CHECK(found("abcdefghijklmnopqrstuvwxyz") == '-');
}

TEST_CASE("layers that repeat within a step are not steps") {
  const std::string layers = repeated("lmn", 24);
  CHECK(found(repeated("h" + layers + "sop", 8)) == 'h');
}

TEST_CASE("warm-up before the steps, and work in every tenth step") {
  CHECK(found("uvwxyzuvwxyz" + repeated("abcdef", 40)) == 'a');
  CHECK(found(repeated(repeated("abcdefgh", 9) + "abcdefghxy", 6)) == 'a');
}

TEST_CASE("a warm-up with more kernels than all steps") {
  std::mt19937 random(5);
  std::string trials;  // of algorithms, also those that steps use
  for (int i = 0; i < 3000; ++i) trials += "aabbccddjklmnopqrstuvwxyz"[random() % 25];
  for (const char* const pause : {"|", ""}) {
    const std::vector<KernelStart> starts = starts_of(trials + pause + repeated("abcdefgh", 100));
    const std::vector<std::size_t> begins = step_begins(starts);
    REQUIRE(begins.size() >= 98);
    for (std::size_t i = begins.size() - 98; i < begins.size(); ++i) CHECK(begins[i] - begins[i - 1] == 8);
  }
  // A twelfth of the kernels: too little is known.
  CHECK(found(trials + trials + trials + "|" + repeated("abcdefgh", 100)) == '-');
}

TEST_CASE("irregular launches before the first regular steps are no steps") {
  const std::string kernels = "aaxyzaxaxyyyyyz|axaxyz|" + repeated("abcdefgh", 40);
  const std::vector<std::size_t> begins = step_begins(starts_of(kernels));
  REQUIRE(begins.size() == 40);
  CHECK(begins[0] == 21);
  CHECK(step_begins(starts_of(repeated("abcdefghabcdefghabcd|", 10))).size() >= 20);  // two or three per window
}

TEST_CASE("two phases that alternate are one step") {
  // A discriminator and a generator, with shared kernels a and b.
  for (const char* step : {"abddddabgg", "axddddbxgg", "abddddabgggg"}) {
    CAPTURE(step);
    const std::size_t length = std::string(step).size();
    const std::vector<std::size_t> begins = step_begins(starts_of(repeated(step, 10)));
    REQUIRE(begins.size() >= 9);
    for (std::size_t i = 1; i < begins.size(); ++i) CHECK(begins[i] - begins[i - 1] == length);
  }
}

TEST_CASE("steps of different lengths") {
  std::mt19937 random(7);
  std::string kernels;
  for (int step = 0; step < 200; ++step) {
    kernels += 'a';
    for (std::uint32_t i = 0; i < 40 + random() % 5; ++i) kernels += "bcdefg"[random() % 6];
    kernels += "hi";
  }
  CHECK(found(kernels) == 'a');
}

TEST_CASE("random kernels have no steps") {
  std::mt19937 random(3);
  std::string kernels;
  for (int i = 0; i < 5000; ++i) kernels += static_cast<char>('a' + random() % 26);
  CHECK(found(kernels) == '-');
}

TEST_CASE("time between two windows does not count") {
  CHECK(found(repeated("cd" + repeated("abcd", 3) + "a|", 4)) == 'c');
  CHECK(found(repeated("abcd|", 20)) == '-');  // no window contains a whole step
}

}  // namespace
}  // namespace unstarve
