#include "unstarve/codecs/jpeg/libjpeg/read_baseline.h"

#include <algorithm>
#include <cstdio>

#include <jpeglib.h>

namespace unstarve {
namespace {

bool copy_codes(const JHUFF_TBL* table, HuffmanCodes& codes) {
  if (table == nullptr) return false;
  std::copy(std::begin(table->bits), std::end(table->bits), codes.counts.begin());
  std::copy(std::begin(table->huffval), std::end(table->huffval), codes.symbols.begin());
  codes.counts[0] = 0;
  return true;
}

}  // namespace

JpegKind jpeg_kind(const jpeg_decompress_struct& cinfo) {
  if (cinfo.progressive_mode) return JpegKind::kProgressive;
  if (cinfo.arith_code) return JpegKind::kArithmetic;
  if (cinfo.data_precision != 8) return JpegKind::kDepth;
  const bool one_scan = cinfo.comps_in_scan == cinfo.num_components && cinfo.Ss == 0 && cinfo.Se == DCTSIZE2 - 1 &&
                        cinfo.Ah == 0 && cinfo.Al == 0;
  if (!one_scan) return JpegKind::kScans;
  const bool grey = cinfo.num_components == 1 && cinfo.jpeg_color_space == JCS_GRAYSCALE;
  if (grey) return JpegKind::kBaseline;
  if (cinfo.num_components != 3 || cinfo.jpeg_color_space != JCS_YCbCr) return JpegKind::kColour;
  for (int i = 0; i < 3; ++i) {
    const jpeg_component_info& component = cinfo.comp_info[i];
    if (cinfo.cur_comp_info[i] != &component) return JpegKind::kScans;
    const int most = i == 0 ? 2 : 1;
    if (component.h_samp_factor > most || component.v_samp_factor > most) return JpegKind::kSampling;
  }
  return JpegKind::kBaseline;
}

bool read_baseline(const jpeg_decompress_struct& cinfo, std::span<const std::uint8_t> bytes, BaselineImage& image) {
  if (jpeg_kind(cinfo) != JpegKind::kBaseline) return false;
  image.size = {static_cast<int>(cinfo.image_width), static_cast<int>(cinfo.image_height)};
  image.components = cinfo.num_components;
  image.horizontal = image.components == 1 ? 1 : cinfo.comp_info[0].h_samp_factor;
  image.vertical = image.components == 1 ? 1 : cinfo.comp_info[0].v_samp_factor;
  image.restart_interval = static_cast<int>(cinfo.restart_interval);
  for (int i = 0; i < image.components; ++i) {
    const jpeg_component_info& from = cinfo.comp_info[i];
    // As in the file; libjpeg reads them only when it begins to decode.
    if (from.quant_tbl_no < 0 || from.quant_tbl_no >= NUM_QUANT_TBLS || from.dc_tbl_no < 0 ||
        from.dc_tbl_no >= NUM_HUFF_TBLS || from.ac_tbl_no < 0 || from.ac_tbl_no >= NUM_HUFF_TBLS) {
      return false;
    }
    const JQUANT_TBL* table = cinfo.quant_tbl_ptrs[from.quant_tbl_no];
    if (table == nullptr) return false;
    BaselineComponent& to = image.component[static_cast<std::size_t>(i)];
    std::transform(std::begin(table->quantval), std::end(table->quantval), to.quantisation.begin(),
                   [](UINT16 value) { return static_cast<std::int16_t>(value); });
    to.dc_table = from.dc_tbl_no;
    to.ac_table = from.ac_tbl_no;
    if (!copy_codes(cinfo.dc_huff_tbl_ptrs[to.dc_table], image.dc[static_cast<std::size_t>(to.dc_table)]) ||
        !copy_codes(cinfo.ac_huff_tbl_ptrs[to.ac_table], image.ac[static_cast<std::size_t>(to.ac_table)])) {
      return false;
    }
  }
  image.scan = bytes.subspan(bytes.size() - cinfo.src->bytes_in_buffer);
  return true;
}

}  // namespace unstarve
