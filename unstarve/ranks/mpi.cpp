// Loads the module. The build defines UNSTARVE_MODULE_STAMP (cmake/Modules.cmake) if it has MPI.

#include "unstarve/ranks/mpi.h"

#include "unstarve/core/error.h"
#include "unstarve/core/module_loader.h"

namespace unstarve {

std::shared_ptr<MpiWorld> open_mpi() {
#ifdef UNSTARVE_MODULE_STAMP
  static constexpr Module kModule{
      "libunstarve_mpi.so", "unstarve_mpi_module", UNSTARVE_MODULE_STAMP, "", "", "libopenmpi3", {}};
  return static_cast<const MpiModule*>(load_module(kModule, "train"))->open();
#else
  throw Error(ErrorKind::kMissing,
              "train: started by mpirun or srun, but this build has no MPI; expected libunstarve_mpi.so. Use torchrun "
              "--nproc-per-node N -m unstarve train, or install libopenmpi-dev and build again");
#endif
}

}  // namespace unstarve
