// libunstarve_mpi.so: MpiWorld over the machine's MPI library. The build defines UNSTARVE_MODULE_STAMP.

#include <mpi.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/ranks/mpi.h"

namespace unstarve {
namespace {

void check(int status, const char* operation) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw Error(ErrorKind::kIo, fmt::format("train: MPI {}: {}; expected all ranks to be running", operation,
                                          std::string(text.data(), static_cast<std::size_t>(length))));
}

struct TypeFacts {
  MPI_Datatype type;
  std::size_t bytes;
};

TypeFacts facts_of(MpiType type) {
  switch (type) {
    case MpiType::kFloat32: return {MPI_FLOAT, 4};
    case MpiType::kFloat64: return {MPI_DOUBLE, 8};
  }
  return {MPI_DATATYPE_NULL, 0};
}

MPI_Op operation_of(MpiReduction reduction) {
  switch (reduction) {
    case MpiReduction::kSum: return MPI_SUM;
    case MpiReduction::kMaximum: return MPI_MAX;
  }
  return MPI_OP_NULL;
}

// Calls `call(first, count)` for parts of at most 2^30 elements, because MPI counts with int.
template <class Call>
void in_parts(std::size_t count, Call&& call) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  for (std::size_t first = 0; first < count; first += kMost)
    call(first, static_cast<int>(std::min(kMost, count - first)));
}

// The number of processes that may run on one of this process's CPUs, including itself.
int count_sharing(MPI_Comm local) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return 1;
  int size = 0;
  check(MPI_Comm_size(local, &size), "size");
  std::vector<cpu_set_t> all(static_cast<std::size_t>(size));
  check(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, local), "gathering");
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const cpu_set_t& other) {
    cpu_set_t both;
    CPU_AND(&both, &mine, &other);
    return CPU_COUNT(&both) > 0;
  }));
}

// A process, for the others of its machine.
struct Identity {
  int rank;
  int process;
  std::uint64_t pid_namespace;
};

Identity own_identity(int rank) {
  struct stat facts {};
  const bool known = ::stat("/proc/self/ns/pid", &facts) == 0;
  return {rank, ::getpid(), known ? facts.st_ino : 0};
}

std::vector<LocalRank> find_local_ranks(MPI_Comm local, int rank) {
  int size = 0;
  check(MPI_Comm_size(local, &size), "size");
  const Identity mine = own_identity(rank);
  std::vector<Identity> all(static_cast<std::size_t>(size));
  check(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, local), "gathering");
  std::vector<LocalRank> ranks;
  for (const Identity& each : all)
    ranks.push_back({each.rank, each.process,
                     each.rank != rank && each.pid_namespace != 0 && each.pid_namespace == mine.pid_namespace});
  return ranks;
}

// One number that all ranks of this machine share: whether one of them has announced its end.
class SharedNumber {
 public:
  SharedNumber(MPI_Comm local, int local_rank) {
    using Number = std::atomic<int>;
    static_assert(Number::is_always_lock_free);
    void* memory = nullptr;
    check(MPI_Win_allocate_shared(local_rank == 0 ? sizeof(Number) : 0, sizeof(Number), MPI_INFO_NULL, local, &memory,
                                  &window_),
          "shared memory");
    MPI_Aint bytes = 0;
    int unit = 0;
    check(MPI_Win_shared_query(window_, 0, &bytes, &unit, &memory), "shared memory");
    if (local_rank == 0) new (memory) Number(0);
    number_ = static_cast<Number*>(memory);
    check(MPI_Barrier(local), "barrier");
  }
  [[nodiscard]] std::atomic<int>& number() const { return *number_; }
  // All ranks of this machine call it.
  void free() { check(MPI_Win_free(&window_), "end of shared memory"); }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  std::atomic<int>* number_ = nullptr;
};

class LibraryWorld final : public MpiWorld {
 public:
  LibraryWorld() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "start");
    if (provided < MPI_THREAD_SERIALIZED)
      throw Error(ErrorKind::kMissing,
                  "train: found an MPI library without support for threads; expected MPI_THREAD_SERIALIZED");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Comm_rank(MPI_COMM_WORLD, &position_.rank), "rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &position_.world), "size");
    MPI_Comm local = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local), "split");
    check(MPI_Comm_rank(local, &position_.local_rank), "local rank");
    position_.sharing = count_sharing(local);
    local_ranks_ = find_local_ranks(local, position_.rank);
    ended_.emplace(local, position_.local_rank);
    check(MPI_Comm_free(&local), "free");
  }

  [[nodiscard]] MpiPosition position() const override { return position_; }

  void reduce(void* data, std::size_t count, MpiType type, MpiReduction reduction) override {
    const TypeFacts facts = facts_of(type);
    in_parts(count, [&](std::size_t first, int part) {
      check(MPI_Allreduce(MPI_IN_PLACE, static_cast<char*>(data) + first * facts.bytes, part, facts.type,
                          operation_of(reduction), MPI_COMM_WORLD),
            "reduction");
    });
  }
  void broadcast(void* data, std::size_t bytes, int root) override {
    in_parts(bytes, [&](std::size_t first, int part) {
      check(MPI_Bcast(static_cast<char*>(data) + first, part, MPI_BYTE, root, MPI_COMM_WORLD), "broadcast");
    });
  }
  void gather(const void* mine, void* all, std::size_t bytes) override {
    const int count = static_cast<int>(bytes);
    check(MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, MPI_COMM_WORLD), "gathering");
  }
  [[nodiscard]] const std::vector<LocalRank>& local_ranks() const override { return local_ranks_; }
  void announce_end() noexcept override { ended_->number().store(1); }
  [[nodiscard]] bool announced_end() const noexcept override { return ended_->number().load() != 0; }
  void finish() override {
    ended_->free();
    check(MPI_Finalize(), "end");
  }

 private:
  MpiPosition position_;
  std::vector<LocalRank> local_ranks_;
  std::optional<SharedNumber> ended_;
};

}  // namespace
}  // namespace unstarve

const unstarve::MpiModule* unstarve_mpi_module() noexcept {
  static constexpr unstarve::MpiModule kModule{UNSTARVE_MODULE_STAMP, []() -> std::shared_ptr<unstarve::MpiWorld> {
                                                 return std::make_shared<unstarve::LibraryWorld>();
                                               }};
  return &kModule;
}
