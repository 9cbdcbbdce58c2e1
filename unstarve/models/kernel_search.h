#pragma once
// cuDNN measures all kernels for a convolution of a new shape, if the process has chosen so (as trainers on a GPU do):
// worth its time for the shape of the training steps, but not for shapes that are computed a few times.

#include <ATen/Context.h>

namespace unstarve {

// During its lifetime, new shapes get the kernel that cuDNN expects to be fast, and keep it, also afterwards: not for
// shapes that are trained later. Kernels that were measured before are still used. For the whole process, one at a
// time.
class WithoutKernelSearch {
 public:
  WithoutKernelSearch() { at::globalContext().setBenchmarkCuDNN(false); }
  ~WithoutKernelSearch() { at::globalContext().setBenchmarkCuDNN(searched_); }
  WithoutKernelSearch(const WithoutKernelSearch&) = delete;
  WithoutKernelSearch& operator=(const WithoutKernelSearch&) = delete;

 private:
  bool searched_ = at::globalContext().benchmarkCuDNN();
};

}  // namespace unstarve
