#include "unstarve/observe/machine.h"

#include <catch2/catch.hpp>

using namespace unstarve;

namespace {

const std::filesystem::path kTrees = "tests/fixtures/machine";

std::uint64_t kb(std::uint64_t n) { return n << 10; }

MachineFacts recorded(const char* tree) {
  INFO("tests run in the root of the source tree");
  REQUIRE(std::filesystem::is_directory(kTrees / tree));
  return read_machine_facts(kTrees / tree);
}

}  // namespace

TEST_CASE("Zen 5 cloud machine, container: the memory limit of a parent cgroup applies", "[machine]") {
  const MachineFacts facts = recorded("zen5-cgroup2");
  CHECK(facts.cpu_model == "AMD EPYC 9575F 64-Core Processor");
  CHECK(facts.instruction_sets == std::vector<std::string>{"sse4_2", "avx", "f16c", "fma", "avx2", "avx512", "avx_vnni",
                                                           "avx512_vnni", "avx512_bf16"});
  CHECK(facts.has("avx512_bf16"));
  CHECK_FALSE(facts.has("amx_bf16"));
  CHECK(facts.topology.affinity == 8);
  CHECK(facts.topology.quota == Approx(2.5));
  CHECK(facts.topology.usable() == 2);
  CHECK(facts.memory_bytes == kb(65841232));
  CHECK(facts.memory_limit_bytes == std::uint64_t{16} << 30);
  // 12 GiB used, 6 of them page cache that the kernel reclaims.
  CHECK(facts.memory_available_bytes == std::uint64_t{10} << 30);
  CHECK(facts.last_level_cache_bytes == std::uint64_t{32} << 20);
  CHECK(facts.shm_bytes == std::uint64_t{64} << 20);
  CHECK(facts.transparent_huge_pages == "madvise");
  CHECK(facts.governor.empty());
  CHECK(facts.kernel == "6.8.0-41-generic");
  CHECK(facts.hypervisor == "Amazon EC2 m8a.2xlarge");
}

TEST_CASE("Intel desktop without AVX-512, cgroup v1 without a limit", "[machine]") {
  const MachineFacts facts = recorded("intel-no-avx512");
  CHECK(facts.cpu_model == "12th Gen Intel(R) Core(TM) i7-12700");
  CHECK(facts.has("avx2"));
  CHECK(facts.has("avx_vnni"));
  CHECK_FALSE(facts.has("avx512"));
  CHECK(facts.topology.online == 20);
  CHECK(facts.topology.usable() == 4);  // limited by the affinity mask
  CHECK(facts.memory_limit_bytes == 0);
  CHECK(facts.memory_available_bytes == kb(24011120));
  CHECK(facts.last_level_cache_bytes == kb(25600));
  CHECK(facts.shm_bytes == kb(32651340) / 2);  // tmpfs without a size
  CHECK(facts.transparent_huge_pages == "never");
  CHECK(facts.governor == "powersave");
  CHECK(facts.hypervisor.empty());
}

TEST_CASE("Arm server: the name comes from the part number, the cache size is unknown", "[machine]") {
  const MachineFacts facts = recorded("arm-neoverse");
  CHECK(facts.cpu_model == "Arm Neoverse V1");
  CHECK(facts.instruction_sets ==
        std::vector<std::string>{"neon", "neon_fp16", "neon_dotprod", "neon_i8mm", "neon_bf16", "sve"});
  CHECK(facts.memory_limit_bytes == 0);
  CHECK(facts.last_level_cache_bytes == 0);
  CHECK(facts.shm_bytes == kb(3967500));
  CHECK(facts.transparent_huge_pages == "always");
  CHECK(facts.hypervisor == "Amazon EC2 c7g.xlarge");
}

TEST_CASE("unreadable machine files give empty facts, not an error", "[machine]") {
  const MachineFacts facts = read_machine_facts("no/such/tree");
  CHECK(facts.cpu_model.empty());
  CHECK(facts.instruction_sets.empty());
  CHECK(facts.memory_bytes == 0);
  CHECK(facts.memory_limit_bytes == 0);
  CHECK(facts.shm_bytes == 0);
  CHECK(facts.topology.usable() >= 1);
}

TEST_CASE("this machine has memory, a kernel and at least one usable core", "[machine]") {
  const MachineFacts facts = read_machine_facts();
  CHECK(facts.memory_bytes > 0);
  CHECK(facts.memory_available_bytes <= facts.memory_bytes);
  CHECK_FALSE(facts.kernel.empty());
  CHECK(facts.topology.usable() >= 1);
}
