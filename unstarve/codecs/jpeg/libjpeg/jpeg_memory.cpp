#include "unstarve/codecs/jpeg/libjpeg/jpeg_memory.h"

#include <cstddef>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>
// After jpeglib.h, whose macros decide which messages exist and so their numbers.
#include <jerror.h>

#include "unstarve/codecs/common/image_arena.h"

namespace unstarve {
namespace {

// libjpeg declares struct jvirt_barray_control without defining it; each memory manager defines its own.
struct CoefficientArray {
  CoefficientArray* next;
  JBLOCKARRAY rows;
  JDIMENSION blocks_per_row;
  JDIMENSION row_count;
  JDIMENSION zeroed;  // rows above this one are defined
};

// One per decompressor, in libjpeg's own permanent pool: it is freed with the decompressor.
struct Manager {
  ImageArena* arena;
  CoefficientArray* arrays;  // of the current image
};

Manager& manager_of(j_common_ptr cinfo) noexcept { return *static_cast<Manager*>(cinfo->client_data); }

void* allocate(j_common_ptr cinfo, std::size_t bytes) {
  void* memory = manager_of(cinfo).arena->allocate(bytes);
  if (memory == nullptr) {
    cinfo->err->msg_code = JERR_OUT_OF_MEMORY;
    cinfo->err->msg_parm.i[0] = 0;
    cinfo->err->error_exit(cinfo);
  }
  return memory;
}

void* alloc_object(j_common_ptr cinfo, int, std::size_t bytes) { return allocate(cinfo, bytes); }

JSAMPARRAY alloc_sample_rows(j_common_ptr cinfo, int, JDIMENSION samples_per_row, JDIMENSION row_count) {
  auto rows = static_cast<JSAMPARRAY>(allocate(cinfo, row_count * sizeof(JSAMPROW)));
  // libjpeg-turbo pads rows to twice its vector size, so that upsampling may run over the end of a row.
  const std::size_t stride = (std::size_t{samples_per_row} + 63) / 64 * 64;
  auto* samples = static_cast<JSAMPLE*>(allocate(cinfo, stride * row_count));
  for (JDIMENSION row = 0; row < row_count; ++row) rows[row] = samples + row * stride;
  return rows;
}

JBLOCKARRAY alloc_block_rows(j_common_ptr cinfo, int, JDIMENSION blocks_per_row, JDIMENSION row_count) {
  auto rows = static_cast<JBLOCKARRAY>(allocate(cinfo, row_count * sizeof(JBLOCKROW)));
  auto* blocks = static_cast<JBLOCK*>(allocate(cinfo, std::size_t{blocks_per_row} * row_count * sizeof(JBLOCK)));
  for (JDIMENSION row = 0; row < row_count; ++row) rows[row] = blocks + std::size_t{row} * blocks_per_row;
  return rows;
}

jvirt_barray_ptr request_coefficients(j_common_ptr cinfo, int, boolean, JDIMENSION blocks_per_row, JDIMENSION row_count,
                                      JDIMENSION) {
  auto* array = static_cast<CoefficientArray*>(allocate(cinfo, sizeof(CoefficientArray)));
  Manager& manager = manager_of(cinfo);
  *array = {manager.arrays, nullptr, blocks_per_row, row_count, 0};
  manager.arrays = array;
  return reinterpret_cast<jvirt_barray_ptr>(array);
}

void realize_coefficients(j_common_ptr cinfo) {
  for (CoefficientArray* array = manager_of(cinfo).arrays; array != nullptr; array = array->next) {
    if (array->rows == nullptr) {
      array->rows = alloc_block_rows(cinfo, JPOOL_IMAGE, array->blocks_per_row, array->row_count);
    }
  }
}

// Rows are zeroed on first access (all decoder arrays require zeros), so that a truncated file costs no more than its
// data.
JBLOCKARRAY access_coefficients(j_common_ptr cinfo, jvirt_barray_ptr handle, JDIMENSION first, JDIMENSION count,
                                boolean) {
  auto* array = reinterpret_cast<CoefficientArray*>(handle);
  const std::size_t end = std::size_t{first} + count;
  if (array->rows == nullptr || end > array->row_count) {
    cinfo->err->msg_code = JERR_BAD_VIRTUAL_ACCESS;
    cinfo->err->error_exit(cinfo);
  }
  for (; array->zeroed < end; ++array->zeroed) {
    std::memset(array->rows[array->zeroed], 0, array->blocks_per_row * sizeof(JBLOCK));
  }
  return array->rows + first;
}

// Called by jpeg_abort() and jpeg_finish_decompress() for JPOOL_IMAGE; jpeg_destroy() frees libjpeg's memory itself.
void free_pool(j_common_ptr cinfo, int) {
  Manager& manager = manager_of(cinfo);
  manager.arrays = nullptr;
  manager.arena->reset();
}

}  // namespace

void serve_jpeg_memory_from(ImageArena& arena, jpeg_decompress_struct& cinfo) noexcept {
  auto common = reinterpret_cast<j_common_ptr>(&cinfo);
  jpeg_memory_mgr& methods = *cinfo.mem;
  auto* manager = static_cast<Manager*>(methods.alloc_small(common, JPOOL_PERMANENT, sizeof(Manager)));
  *manager = {&arena, nullptr};
  cinfo.client_data = manager;
  methods.alloc_small = alloc_object;
  methods.alloc_large = alloc_object;
  methods.alloc_sarray = alloc_sample_rows;
  methods.alloc_barray = alloc_block_rows;
  methods.request_virt_barray = request_coefficients;
  methods.realize_virt_arrays = realize_coefficients;
  methods.access_virt_barray = access_coefficients;
  methods.free_pool = free_pool;
}

void forget_tables(jpeg_decompress_struct& cinfo) noexcept {
  for (JQUANT_TBL*& table : cinfo.quant_tbl_ptrs) table = nullptr;
  for (JHUFF_TBL*& table : cinfo.dc_huff_tbl_ptrs) table = nullptr;
  for (JHUFF_TBL*& table : cinfo.ac_huff_tbl_ptrs) table = nullptr;
}

}  // namespace unstarve
