#include "unstarve/observe/machine.h"
#include "unstarve/core/json.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "unstarve/observe/facts.h"
#include "unstarve/observe/kernel_files.h"

using namespace unstarve;

namespace {

const std::filesystem::path kTrees = "tests/fixtures/machine";

std::uint64_t kb(std::uint64_t n) { return n << 10; }

MachineFacts recorded(const char* tree) {
  INFO("tests run in the root of the source tree");
  REQUIRE(std::filesystem::is_directory(kTrees / tree));
  return read_machine_facts(kTrees / tree);
}

TEST_CASE("sums of int8 products may overflow on x86 without VNNI") {
  const auto may_overflow = [](std::vector<std::string> sets) {
    MachineFacts machine;
    machine.instruction_sets = std::move(sets);
    return int8_sums_may_overflow(machine);
  };
  CHECK(may_overflow({"avx2", "avx512"}));
  CHECK_FALSE(may_overflow({"avx2", "avx_vnni"}));
  CHECK_FALSE(may_overflow({"avx2", "avx512", "avx512_vnni"}));
  CHECK_FALSE(may_overflow({"neon"}));
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
  CHECK(facts.container == "kubernetes");  // and not docker, whose file is there too
  CHECK(facts.open_files == 1024);
  CHECK(facts.open_files_most == 1048576);
  CHECK(facts.tasks == 97);  // of the pod, whose limit is the only one
  CHECK(facts.tasks_most == 1024);
  CHECK(facts.killed_for_memory == 2);  // of the group itself, which that of its parent includes
  CHECK(facts.swap_bytes == 0);
  CHECK(facts.swap_used_bytes == 0);
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
  CHECK(facts.governor == "performance, powersave");
  CHECK(facts.energy_preference == "balance_performance, balance_power");
  CHECK(facts.tasks_most == 0);
  CHECK(facts.turbo_off);
  CHECK(facts.hypervisor.empty());
  CHECK(facts.container.empty());
  CHECK(facts.open_files == 4096);
  CHECK(facts.open_files_most == std::numeric_limits<std::uint64_t>::max());
  CHECK(facts.swap_bytes == kb(2097148));
  CHECK(facts.swap_used_bytes == kb(2097148 - 524284));
  CHECK(facts.killed_for_memory == 0);
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

TEST_CASE("two sockets with GPUs: nodes of process and accelerators, and their drivers", "[machine]") {
  const MachineFacts facts = recorded("two-sockets-gpus");
  CHECK(facts.topology.numa_nodes == 2);
  CHECK(facts.nodes == std::vector<int>{0});
  CHECK_FALSE(facts.turbo_off);
  CHECK(facts.open_files == std::numeric_limits<std::uint64_t>::max());
  // Neither the display of the management processor nor the network card.
  REQUIRE(facts.accelerators.size() == 3);
  CHECK(facts.accelerators[0].address == "0000:19:00.0");
  CHECK(facts.accelerators[0].vendor == "AMD");
  CHECK(facts.accelerators[0].driver.empty());
  CHECK(facts.accelerators[0].numa_node == 0);
  CHECK(facts.accelerators[1].vendor == "0x1f3f");
  CHECK(facts.accelerators[1].numa_node == -1);
  CHECK(facts.accelerators[2].address == "0000:9b:00.0");
  CHECK(facts.accelerators[2].vendor == "NVIDIA");
  CHECK(facts.accelerators[2].driver == "nvidia");
  CHECK(facts.accelerators[2].numa_node == 1);
}

TEST_CASE("machine facts are shown as text and as JSON", "[machine]") {
  const MachineFacts facts = recorded("two-sockets-gpus");
  const auto shown = [&](const std::string& name) {
    std::vector<std::string> values;
    for (const Fact& fact : describe(facts))
      if (fact.name == name) values.push_back(fact.value);
    return values;
  };
  CHECK(shown("NUMA nodes") == std::vector<std::string>{"2; this process runs on 0"});
  CHECK(shown("open files") == std::vector<std::string>{"unlimited"});
  CHECK(shown("swap") == std::vector<std::string>{""});
  CHECK(shown("accelerator") == std::vector<std::string>{"AMD at 0000:19:00.0, NUMA node 0, no driver",
                                                         "0x1f3f at 0000:5a:00.0, driver accel",
                                                         "NVIDIA at 0000:9b:00.0, NUMA node 1, driver nvidia"});
  const auto json = parse_json(to_json(facts));
  CHECK(json["nodes"] == nlohmann::json{0});
  CHECK(json["accelerators"][1]["numa_node"].is_null());
  CHECK(json["accelerators"][2]["address"] == "0000:9b:00.0");
}

TEST_CASE("lists of the kernel", "[machine]") {
  CHECK(kernel::parse_list("0-2,7\n") == std::vector<int>{0, 1, 2, 7});
  CHECK(kernel::parse_list("5") == std::vector<int>{5});
  for (const char* const text : {"", "a", "3-1", "1-", "1;2", "0-99999999", "-4"})
    CHECK(kernel::parse_list(text).empty());
}

TEST_CASE("unreadable machine files give empty facts, not an error", "[machine]") {
  const MachineFacts facts = read_machine_facts("no/such/tree");
  CHECK(facts.cpu_model.empty());
  CHECK(facts.instruction_sets.empty());
  CHECK(facts.memory_bytes == 0);
  CHECK(facts.memory_limit_bytes == 0);
  CHECK(facts.shm_bytes == 0);
  CHECK(facts.topology.usable() >= 1);
  CHECK(facts.open_files == 0);
  CHECK(facts.accelerators.empty());
}

TEST_CASE("this machine has memory, a kernel and at least one usable core", "[machine]") {
  const MachineFacts facts = read_machine_facts();
  CHECK(facts.memory_bytes > 0);
  CHECK(facts.memory_available_bytes <= facts.memory_bytes);
  CHECK_FALSE(facts.kernel.empty());
  CHECK(facts.topology.usable() >= 1);
}
