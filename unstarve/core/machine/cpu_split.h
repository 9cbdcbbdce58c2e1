#pragma once
// Divides the CPUs of this process between the operators of a network and the threads of a loader.
//
//   CpuSplit split(3);       // the calling thread, and threads that it creates, run on the first three CPUs
//   {
//     const CpuSplit::LoaderScope scope(&split);
//     make_loader();         // its threads, and those that they create, run on the other CPUs
//   }
//
// Threads inherit the CPUs of the thread that creates them. Those of OpenMP are created by the thread that runs the
// operators, so the split has to exist before the first operator.
//
// Threads: one. Failure: Error(kArgument) if no CPU is left for the loader; Error(kIo) if the system denies it.

#include <vector>

namespace unstarve {

class CpuSplit {
 public:
  explicit CpuSplit(int operators);
  ~CpuSplit();  // the calling thread gets its CPUs back
  CpuSplit(const CpuSplit&) = delete;
  CpuSplit& operator=(const CpuSplit&) = delete;

  class LoaderScope {
   public:
    explicit LoaderScope(const CpuSplit* split);  // null: changes nothing
    ~LoaderScope();
    LoaderScope(const LoaderScope&) = delete;
    LoaderScope& operator=(const LoaderScope&) = delete;

   private:
    const CpuSplit* split_;
  };

 private:
  std::vector<int> all_, operators_, loader_;
};

// The CPUs on which the calling thread may run, in ascending order; empty if the system does not report them.
[[nodiscard]] std::vector<int> cpus_of_thread();

}  // namespace unstarve
