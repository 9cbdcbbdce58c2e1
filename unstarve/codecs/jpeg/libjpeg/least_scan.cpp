#include "unstarve/codecs/jpeg/libjpeg/least_scan.h"

#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

namespace unstarve {
namespace {

// Bits of the shortest code; 1 for a missing table, which libjpeg rejects later.
std::uint64_t shortest_code(JHUFF_TBL* const (&tables)[NUM_HUFF_TBLS], int number) {
  if (number < 0 || number >= NUM_HUFF_TBLS || tables[number] == nullptr) return 1;
  for (std::uint64_t bits = 1; bits <= 16; ++bits)
    if (tables[number]->bits[bits] > 0) return bits;
  return 1;
}

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

}  // namespace

std::uint64_t least_scan_bytes(jpeg_decompress_struct& cinfo, int rows) {
  const bool dc_alone = cinfo.progressive_mode;
  if (cinfo.arith_code || cinfo.Ss != 0 || cinfo.Ah != 0) return 0;
  const auto shown = static_cast<std::uint64_t>(jpeg_has_multiple_scans(&cinfo) ? cinfo.image_height : rows);
  // The rows of MCUs above the last one, and one MCU of the last one, the rest of which may not be read.
  const auto least_mcus = [](std::uint64_t mcu_rows, std::uint64_t columns) { return (mcu_rows - 1) * columns + 1; };
  const auto least_bits = [&](const jpeg_component_info& component) {
    const std::uint64_t dc = shortest_code(cinfo.dc_huff_tbl_ptrs, component.dc_tbl_no);
    return dc_alone ? dc : dc + shortest_code(cinfo.ac_huff_tbl_ptrs, component.ac_tbl_no);
  };
  const auto most_v = static_cast<std::uint64_t>(cinfo.max_v_samp_factor);
  if (cinfo.comps_in_scan == 1) {  // blocks row by row, without those that only pad MCUs
    const jpeg_component_info& component = *cinfo.cur_comp_info[0];
    const std::uint64_t samples = divided_up(shown * static_cast<std::uint64_t>(component.v_samp_factor), most_v);
    return divided_up(least_mcus(divided_up(samples, DCTSIZE), component.width_in_blocks) * least_bits(component), 8);
  }
  std::uint64_t mcu_bits = 0;
  for (int i = 0; i < cinfo.comps_in_scan; ++i) {
    const jpeg_component_info& component = *cinfo.cur_comp_info[i];
    mcu_bits += static_cast<std::uint64_t>(component.h_samp_factor * component.v_samp_factor) * least_bits(component);
  }
  const std::uint64_t columns =
      divided_up(cinfo.image_width, static_cast<std::uint64_t>(cinfo.max_h_samp_factor) * DCTSIZE);
  return divided_up(least_mcus(divided_up(shown, most_v * DCTSIZE), columns) * mcu_bits, 8);
}

}  // namespace unstarve
