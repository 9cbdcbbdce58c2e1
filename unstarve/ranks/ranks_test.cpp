#include "unstarve/ranks/ranks.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

#include "unstarve/core/testing/error_message.h"

namespace unstarve {
namespace {

// Sets the variables of a launcher, and removes those of all others.
class Environment {
 public:
  explicit Environment(std::initializer_list<std::pair<const char*, const char*>> variables) {
    clear();
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  }
  ~Environment() { clear(); }

 private:
  static void clear() {
    for (const char* const name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK",
          "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", kTorchGroupVariable})
      ::unsetenv(name);
  }
};

using Catch::Contains;

TEST_CASE("launchers are recognised by their variables") {
  {
    const Environment alone({});
    CHECK(launcher_of_environment() == Launcher::kNone);
    CHECK(world_of_environment() == 1);
    CHECK_FALSE(join_ranks().several());
  }
  {
    const Environment one({{"WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}});
    CHECK(launcher_of_environment() == Launcher::kNone);
  }
  {
    const Environment torch({{"WORLD_SIZE", "2"}});
    CHECK(launcher_of_environment() == Launcher::kTorchrun);
  }
  {
    const Environment mpirun({{"OMPI_COMM_WORLD_SIZE", "2"}, {"SLURM_STEP_NUM_TASKS", "2"}});
    CHECK(launcher_of_environment() == Launcher::kMpi);
  }
  {
    const Environment srun({{"SLURM_STEP_NUM_TASKS", "8"}});
    CHECK(launcher_of_environment() == Launcher::kMpi);
    CHECK(world_of_environment() == 8);
    CHECK_THROWS_WITH(join_ranks(), Contains("srun started 8 processes without MPI") && Contains("srun --mpi=pmix"));
  }
  {
    const Environment other({{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "3"}});
    CHECK_THROWS_WITH(join_ranks(), "");
  }
  {  // torchrun within a Slurm job
    const Environment both({{"SLURM_STEP_NUM_TASKS", "2"}, {"WORLD_SIZE", "16"}});
    CHECK(launcher_of_environment() == Launcher::kTorchrun);
    CHECK(world_of_environment() == 16);
  }
}

TEST_CASE("ranks of torchrun") {
  {
    const Environment torch({{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {kTorchGroupVariable, "0"}});
    const Ranks ranks = join_ranks();
    CHECK(ranks.rank == 5);
    CHECK(ranks.world == 8);
    CHECK(ranks.local_rank == 1);
    CHECK(ranks.sharing == 4);
    CHECK(ranks.group == "0");
    CHECK_FALSE(ranks.first());
    CHECK(rank_prefix(ranks) == "rank 5 of 8: ");
  }
  const auto message = [](std::initializer_list<std::pair<const char*, const char*>> variables, ErrorKind kind) {
    const Environment torch(variables);
    return testing::error_message([] { (void)join_ranks(); }, kind);
  };
  CHECK_THAT(message({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "2"}},
                     ErrorKind::kMissing),
             Contains("-m unstarve train"));
  CHECK_THAT(message({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "2"}},
                     ErrorKind::kArgument),
             Contains("RANK=2 of WORLD_SIZE=2"));
  CHECK_THAT(message({{"RANK", "x"}, {"WORLD_SIZE", "2"}}, ErrorKind::kArgument),
             Contains("RANK: found \"x\"; expected a number from 0"));
}

TEST_CASE("with several ranks, cuda is the GPU of the rank's number on the machine") {
  Ranks ranks;
  ranks.local_rank = 1;
  CHECK(device_of_rank("cuda", ranks) == "cuda");
  ranks.world = 4;
  CHECK(device_of_rank("cuda", ranks) == "cuda:1");
  CHECK(device_of_rank("cuda:3", ranks) == "cuda:3");
  CHECK(device_of_rank("cpu", ranks) == "cpu");
}

TEST_CASE("ranks share the cores on which several of them may run") {
  Ranks ranks;
  const int all = cores_of_rank(ranks);
  CHECK(all >= 1);
  ranks.sharing = all * 4;
  CHECK(cores_of_rank(ranks) == 1);
  CHECK(rank_prefix({}).empty());
}

}  // namespace
}  // namespace unstarve
