#include "unstarve/jobs/doctor.h"

#include "../options/shared.h"
#include "unstarve/core/version.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/train/trainer.h"

namespace unstarve::cli {
namespace {

int run_doctor_command(const Arguments& arguments, const std::string&) {
  const LibtorchFacts libtorch = libtorch_facts();
  const ArrowFacts arrow = arrow_facts();
  const DoctorResult result = run_doctor({kVersion, compiler_name(), libtorch.version, libtorch.cuda, libtorch.cpu,
                                          arrow.version, libtorch.problem, arrow.problem});
  print_result(arguments, result);
  return kDone;
}

}  // namespace

Command doctor_command() {
  return {"doctor",
          "Report configuration problems and how to fix them",
          "Checks CPU instruction sets, usable cores (affinity and cgroup limits), NUMA nodes, memory, swap, /dev/shm, "
          "open files, huge pages, CPU frequencies and libraries, and of GPUs the driver, persistence mode, PCIe link, "
          "power limit and clocks. Prints the command that fixes each problem. Changes nothing.",
          "  unstarve doctor\n"
          "  unstarve doctor --json",
          {json_option()},
          run_doctor_command};
}

}  // namespace unstarve::cli
