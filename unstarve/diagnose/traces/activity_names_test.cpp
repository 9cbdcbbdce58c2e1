#include "unstarve/diagnose/traces/activity_names.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("kernels that use tensor cores") {
  for (const char* name :
       {"ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_nn", "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn",
        "volta_fp16_s884gemm_fp16_64x64_ldg8_f2f_nn", "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT",
        "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_warpsize2x2x1_g1_"
        "tensor16x8x8_execute_kernel__5x_cudnn",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__"
        "5x_cublas",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8>(...)",
        "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t> >(...)"}) {
    INFO(name);
    CHECK(kernel_traits(name).matrix);
    CHECK(kernel_traits(name).tensor_core);
    CHECK_FALSE(kernel_traits(name).collective);
  }
}

TEST_CASE("matrix kernels without tensor cores, and other kernels") {
  for (const char* name :
       {"ampere_sgemm_128x64_tn", "volta_sgemm_64x64_nn", "void implicit_convolve_sgemm<float, float, 1024, 5, 5>",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>", "void gemv2N_kernel<int, int, float>"}) {
    INFO(name);
    CHECK(kernel_traits(name).matrix);
    CHECK_FALSE(kernel_traits(name).tensor_core);
  }
  for (const char* name : {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >",
                           "void cudnn::bn_bw_1C11_kernel_new<float>", "void nchwToNhwcKernel<float, float, float>",
                           "void convert_and_copy<float>", "gemm_fusion_dot_13_0", "triton_gemm_dot_4",
                           "void at::native::im2col_kernel<float>(long)"}) {
    INFO(name);
    CHECK_FALSE(kernel_traits(name).matrix);
  }
}

TEST_CASE("collectives") {
  for (const char* name :
       {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "all-reduce.17", "reduce-scatter-start.2"})
    CHECK(kernel_traits(name).collective);
  CHECK_FALSE(kernel_traits("void at::native::reduce_kernel<512, 1>").collective);
}

TEST_CASE("functions of the runtime") {
  CHECK(runtime_activity("cudaLaunchKernel") == TraceActivity::kLaunch);
  CHECK(runtime_activity("cudaLaunchKernelExC_v11060") == TraceActivity::kLaunch);
  CHECK(runtime_activity("cuLaunchKernel") == TraceActivity::kLaunch);
  CHECK(runtime_activity("hipExtModuleLaunchKernel") == TraceActivity::kLaunch);
  CHECK(runtime_activity("cudaGraphLaunch_v10000") == TraceActivity::kLaunch);
  CHECK(runtime_activity("cudaMemcpyAsync") == TraceActivity::kCopyCall);
  CHECK(runtime_activity("cuMemcpyHtoDAsync_v2") == TraceActivity::kCopyCall);
  CHECK(runtime_activity("cudaMemcpy_v3020") == TraceActivity::kSynchronisation);
  CHECK(runtime_activity("cudaStreamSynchronize_v3020") == TraceActivity::kSynchronisation);
  CHECK(runtime_activity("hipDeviceSynchronize") == TraceActivity::kSynchronisation);
  CHECK(runtime_activity("cudaMalloc") == TraceActivity::kAllocation);
  CHECK(runtime_activity("cudaFree_v3020") == TraceActivity::kAllocation);
  CHECK(runtime_activity("cudaHostAlloc") == TraceActivity::kAllocation);
  CHECK(runtime_activity("cuMemAlloc_v2") == TraceActivity::kAllocation);
  CHECK(runtime_activity("cudaMallocAsync") == TraceActivity::kRuntimeCall);
  CHECK(runtime_activity("cudaStreamWaitEvent") == TraceActivity::kRuntimeCall);
  CHECK(runtime_activity("cudaEventQuery") == TraceActivity::kRuntimeCall);
}

TEST_CASE("ranges") {
  CHECK(range_activity("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__") == TraceActivity::kLoader);
  CHECK(range_activity("IteratorGetNext:IteratorGetNextOp") == TraceActivity::kLoader);
  CHECK(range_activity("Trainer.save_checkpoint") == TraceActivity::kCheckpoint);
  CHECK(range_activity("CheckpointFunction") == std::nullopt);
  CHECK(range_activity("step 12") == TraceActivity::kPossibleStep);
  CHECK(range_activity("iteration_7") == TraceActivity::kPossibleStep);
  CHECK(range_activity("one_step_on_iterator") == TraceActivity::kPossibleStep);
  CHECK(range_activity("multi_step_on_iterator") == TraceActivity::kPossibleStep);
  CHECK(range_activity("Training Step #3") == TraceActivity::kPossibleStep);
  CHECK(range_activity("[pl][profile]run_training_batch") == TraceActivity::kPossibleStep);
  CHECK(range_activity("Optimizer.step#SGD.step") == std::nullopt);
  CHECK(range_activity("forward") == std::nullopt);
  CHECK(range_activity("12") == std::nullopt);
  CHECK(range_activity("") == std::nullopt);
}

TEST_CASE("functions in Python stacks") {
  CHECK(python_activity("torch/utils/data/dataloader.py(733): __next__") == TraceActivity::kLoader);
  CHECK(python_activity("torch/serialization.py(944): save") == TraceActivity::kCheckpoint);
  CHECK(python_activity("torch/serialization.py(1004): _save") == std::nullopt);
  CHECK(python_activity("torch/utils/tensorboard/writer.py(355): add_scalar") == TraceActivity::kLogging);
  CHECK(python_activity("train.py(12): save") == std::nullopt);
  CHECK(python_activity("<built-in method save of type object>") == std::nullopt);
}

TEST_CASE("copies") {
  const auto is = [](const char* name, CopyDirection direction, MemoryKind memory) {
    const CopyName copy = copy_name(name);
    return copy.direction == direction && copy.host_memory == memory;
  };
  CHECK(is("Memcpy HtoD (Pageable -> Device)", CopyDirection::kToDevice, MemoryKind::kPageable));
  CHECK(is("Memcpy HtoD (Pinned -> Device)", CopyDirection::kToDevice, MemoryKind::kPinned));
  CHECK(is("Memcpy DtoH (Device -> Pageable)", CopyDirection::kToHost, MemoryKind::kPageable));
  CHECK(is("Memcpy DtoD (Device -> Device)", CopyDirection::kOnDevice, MemoryKind::kDevice));
  CHECK(is("MemcpyH2D", CopyDirection::kToDevice, MemoryKind::kUnknown));
  CHECK(is("CopyHostToDevice", CopyDirection::kToDevice, MemoryKind::kUnknown));
}

}  // namespace
}  // namespace unstarve
