#include "unstarve/codecs/jpeg/libjpeg/libjpeg_decoder.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "unstarve/codecs/common/exif.h"
#include "unstarve/codecs/common/guarded_call.h"
#include "unstarve/codecs/common/image_arena.h"
#include "unstarve/codecs/jpeg/libjpeg/jpeg_errors.h"
#include "unstarve/codecs/jpeg/libjpeg/jpeg_memory.h"
#include "unstarve/codecs/jpeg/libjpeg/least_scan.h"
#include "unstarve/codecs/jpeg/libjpeg/read_baseline.h"
#include "unstarve/core/format_error.h"

namespace unstarve {

// libjpeg's structs hold each other's addresses, so a session never moves.
struct LibjpegSession {
  JpegFailure failure{};
  jpeg_decompress_struct cinfo{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  ImageArena arena;
  bool created = false;
  std::span<const std::uint8_t> bytes;

  // The task of decode_step().
  int reduction = 1;
  Rect rect;
  std::uint8_t* out = nullptr;
  std::size_t out_stride = 0;
  bool started = false;  // rows are being read

  ~LibjpegSession() { close(); }
  void close() noexcept {
    if (created) jpeg_destroy_decompress(&cinfo);
    created = false;
    arena.release();
  }
};

namespace {

// A progressive file of a few kilobytes can require thousands of passes over 2^28 pixels; real ones have about ten. The
// limit is the one that libjpeg-turbo's report LJT-01-004 on this attack suggests.
constexpr int kMaxScans = 500;
// The maximum number of rows per call of libjpeg: the largest vertical sampling factor.
constexpr JDIMENSION kRowsPerCall = 4;

// ---- the data source: one span of memory ----

void init_source(j_decompress_ptr) {}
void term_source(j_decompress_ptr) {}

// Called only when the span is exhausted.
boolean fill_input_buffer(j_decompress_ptr cinfo) { fail(reinterpret_cast<j_common_ptr>(cinfo), JERR_INPUT_EOF); }

void skip_input_data(j_decompress_ptr cinfo, long count) {
  if (count <= 0) return;
  jpeg_source_mgr& source = *cinfo->src;
  const std::size_t step = std::min(static_cast<std::size_t>(count), source.bytes_in_buffer);
  const bool beyond = step < static_cast<std::size_t>(count);
  source.next_input_byte += step;
  source.bytes_in_buffer -= step;
  if (beyond) fail(reinterpret_cast<j_common_ptr>(cinfo), JERR_INPUT_EOF);
}

void count_scans(j_common_ptr cinfo) {
  if (reinterpret_cast<j_decompress_ptr>(cinfo)->input_scan_number > kMaxScans) fail(cinfo, kTooManyScans);
}

// ---- steps: run inside guarded_call() and therefore hold only numbers and pointers ----

void create_step(void* context) {
  auto& session = *static_cast<LibjpegSession*>(context);
  session.cinfo.err = install(session.failure);
  jpeg_create_decompress(&session.cinfo);
  serve_jpeg_memory_from(session.arena, session.cinfo);
  session.source.init_source = init_source;
  session.source.fill_input_buffer = fill_input_buffer;
  session.source.skip_input_data = skip_input_data;
  session.source.resync_to_restart = jpeg_resync_to_restart;
  session.source.term_source = term_source;
  session.cinfo.src = &session.source;
  session.progress.progress_monitor = count_scans;
}

void header_step(void* context) {
  auto& session = *static_cast<LibjpegSession*>(context);
  jpeg_abort_decompress(&session.cinfo);
  forget_tables(session.cinfo);
  session.source.next_input_byte = session.bytes.data();
  session.source.bytes_in_buffer = session.bytes.size();
  session.cinfo.progress = nullptr;
  jpeg_read_header(&session.cinfo, TRUE);
}

// Whether libjpeg estimates low frequencies from neighbouring blocks because a progressive file lacks refinements. The
// estimates use two blocks to each side, so these rare files are decoded in full width.
bool smooths_blocks(const jpeg_decompress_struct& cinfo) {
  constexpr int kSmoothed = 10;  // DC and the nine lowest AC coefficients (jdcoefct.h, SAVED_COEFS)
  if (!cinfo.progressive_mode || cinfo.coef_bits == nullptr) return false;
  for (int component = 0; component < cinfo.num_components; ++component) {
    for (int i = 1; i < kSmoothed; ++i) {
      if (cinfo.coef_bits[component][i] != 0) return true;
    }
  }
  return false;
}

// Adobe's inverted CMYK, 0 meaning full ink: a channel is C * K / 255, rounded.
void cmyk_to_rgb(const JSAMPLE* cmyk, std::uint8_t* rgb, int pixels) {
  for (int x = 0; x < pixels; ++x, cmyk += 4, rgb += kChannels) {
    for (int c = 0; c < kChannels; ++c) {
      // Exact division by 255 with rounding, for products up to 255 * 255.
      const unsigned product = static_cast<unsigned>(cmyk[c]) * cmyk[3] + 128;
      rgb[c] = static_cast<std::uint8_t>((product + (product >> 8)) >> 8);
    }
  }
}

// Makes libjpeg decode the columns of `rect` and a margin; returns the first column of its rows.
//
// Smooth upsampling mixes each chroma sample with its neighbours and repeats the last one at the edge of the decoded
// part. With two pixels per chroma sample, the first and the last decoded pixel are therefore wrong unless they are at
// the image's edge: hence one more pixel on the left (libjpeg extends it to a block boundary) and two on the right.
// libjpeg also changes its upsampling method for components less than three samples wide: hence the minimum width.
JDIMENSION crop_columns(jpeg_decompress_struct& cinfo, const Rect& rect) {
  const auto full = static_cast<int>(cinfo.output_width);
  const int least = 3 * cinfo.max_h_samp_factor;
  int right = std::min(rect.x + rect.width + 2, full);
  int left = std::max(rect.x - 1, 0);
  right = std::min(std::max(right, left + least), full);
  left = std::max(std::min(left, right - least), 0);
  auto x = static_cast<JDIMENSION>(left);
  auto width = static_cast<JDIMENSION>(right - left);
  jpeg_crop_scanline(&cinfo, &x, &width);
  // Works around libjpeg-turbo 2.1.5, which ignores that a component's IDCT size may differ (4:1:0 at half size), so
  // that upsampling would end too early.
  for (int i = 0; i < cinfo.num_components; ++i) {
    jpeg_component_info& component = cinfo.comp_info[i];
    const auto samples = static_cast<JDIMENSION>(component.h_samp_factor * component.DCT_scaled_size);
    const auto pixels = static_cast<JDIMENSION>(cinfo.max_h_samp_factor * cinfo.min_DCT_scaled_size);
    component.downsampled_width = (cinfo.output_width * samples + pixels - 1) / pixels;
  }
  return x;
}

void decode_step(void* context) {
  auto& session = *static_cast<LibjpegSession*>(context);
  jpeg_decompress_struct& cinfo = session.cinfo;
  const Rect& rect = session.rect;

  cinfo.scale_num = 1;
  cinfo.scale_denom = static_cast<unsigned>(session.reduction);
  cinfo.out_color_space = cinfo.num_components == 4 ? JCS_CMYK : JCS_RGB;
  cinfo.dct_method = JDCT_ISLOW;
  cinfo.do_fancy_upsampling = TRUE;
  if (jpeg_has_multiple_scans(&cinfo)) cinfo.progress = &session.progress;
  session.started = false;
  jpeg_start_decompress(&cinfo);  // reads all scans of a progressive file
  session.started = true;

  const bool part_of_width = rect.width < static_cast<int>(cinfo.output_width);
  const JDIMENSION first = part_of_width && !smooths_blocks(cinfo) ? crop_columns(cinfo, rect) : 0;

  // libjpeg writes directly into `out` if its rows have our format, otherwise into a few scratch rows.
  const bool cmyk = cinfo.output_components == 4;
  const bool direct = !cmyk && static_cast<int>(cinfo.output_width) == rect.width;
  JSAMPROW rows[kRowsPerCall];
  if (!direct) {
    const auto samples = static_cast<JDIMENSION>(cinfo.output_width * static_cast<unsigned>(cinfo.output_components));
    JSAMPARRAY scratch =
        cinfo.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&cinfo), JPOOL_IMAGE, samples, kRowsPerCall);
    std::copy(scratch, scratch + kRowsPerCall, rows);
  }
  const std::size_t offset =
      (static_cast<std::size_t>(rect.x) - first) * static_cast<unsigned>(cinfo.output_components);

  // Skipping stops inside the row of blocks that contains the line before `rect`, so that the context for vertical
  // upsampling is decoded too.
  if (rect.y > 0) jpeg_skip_scanlines(&cinfo, static_cast<JDIMENSION>(rect.y));
  std::uint8_t* target = session.out;
  for (int left = rect.height; left > 0;) {
    const JDIMENSION requested = std::min(kRowsPerCall, static_cast<JDIMENSION>(left));
    if (direct) {
      for (JDIMENSION i = 0; i < requested; ++i) rows[i] = target + i * session.out_stride;
    }
    const JDIMENSION got = jpeg_read_scanlines(&cinfo, rows, requested);
    if (got == 0) fail(reinterpret_cast<j_common_ptr>(&cinfo), JERR_CANT_SUSPEND);
    for (JDIMENSION i = 0; i < got; ++i, target += session.out_stride) {
      if (cmyk) {
        cmyk_to_rgb(rows[i] + offset, target, rect.width);
      } else if (!direct) {
        std::memcpy(target, rows[i] + offset, session.out_stride);
      }
    }
    left -= static_cast<int>(got);
  }

  if (cinfo.output_scanline == cinfo.output_height) {
    jpeg_finish_decompress(&cinfo);
  } else {
    jpeg_abort_decompress(&cinfo);
  }
}

// Runs a step. After a failure the decompressor is destroyed, because libjpeg does not define its state.
void run(LibjpegSession& session, void (*step)(void*)) {
  if (guarded_call(session.failure.jump, step, &session)) return;
  const jpeg_decompress_struct& cinfo = session.cinfo;
  std::string where = fmt::format("file of {} bytes", session.bytes.size());
  if (step == decode_step && session.started) {
    // Of the file: the output row does not count rows above the region, which are skipped.
    const auto rows_per_mcu = static_cast<JDIMENSION>(cinfo.max_v_samp_factor * DCTSIZE);
    where += fmt::format(", at row {} of {}", std::min(cinfo.input_iMCU_row * rows_per_mcu, cinfo.image_height),
                         cinfo.image_height);
  }
  const Error error = jpeg_error(session.failure, where);
  session.close();
  throw error;
}

}  // namespace

LibjpegDecoder::LibjpegDecoder() : session_(std::make_unique<LibjpegSession>()) {}
LibjpegDecoder::~LibjpegDecoder() = default;
LibjpegDecoder::LibjpegDecoder(LibjpegDecoder&&) noexcept = default;
LibjpegDecoder& LibjpegDecoder::operator=(LibjpegDecoder&&) noexcept = default;

ImageHeader LibjpegDecoder::open(std::span<const std::uint8_t> bytes) {
  LibjpegSession& session = *session_;
  session.bytes = bytes;
  if (!session.created) {
    // Set first, so that close() frees the decompressor after a failure here.
    session.created = true;
    session.cinfo.mem = nullptr;
    run(session, create_step);
  }
  run(session, header_step);

  const jpeg_decompress_struct& cinfo = session.cinfo;
  if (cinfo.num_components != 1 && cinfo.num_components != 3 && cinfo.num_components != 4) {
    throw input_error("JPEG: {} colour components; expected 1 (grey), 3 (colour) or 4 (CMYK)", cinfo.num_components);
  }
  ImageHeader header;
  header.encoding = Encoding::kJpeg;
  header.size = {static_cast<int>(cinfo.image_width), static_cast<int>(cinfo.image_height)};
  header.orientation = exif_orientation(bytes);
  header.components = cinfo.num_components;
  header.jpeg = jpeg_kind(cinfo);
  if (cinfo.num_components > 1) {
    header.horizontal = cinfo.comp_info[0].h_samp_factor;
    header.vertical = cinfo.comp_info[0].v_samp_factor;
  }
  return header;
}

bool LibjpegDecoder::read_baseline(BaselineImage& image) const {
  return unstarve::read_baseline(session_->cinfo, session_->bytes, image);
}

void LibjpegDecoder::check_scan_length(int reduction, const Rect& rect) {
  LibjpegSession& session = *session_;
  jpeg_decompress_struct& cinfo = session.cinfo;
  const auto height = static_cast<std::int64_t>(cinfo.image_height);
  const std::int64_t rows = std::min((std::int64_t{rect.y} + rect.height) * reduction, height);
  const std::uint64_t least = least_scan_bytes(cinfo, static_cast<int>(rows));
  if (cinfo.src->bytes_in_buffer >= least) return;
  throw input_error(
      "JPEG: truncated: {} rows of {} x {} pixels require at least {} bytes, the file of {} bytes has {} after its "
      "header",
      rows, cinfo.image_width, height, least, session.bytes.size(), cinfo.src->bytes_in_buffer);
}

void LibjpegDecoder::decode(int reduction, const Rect& rect, Image& out) {
  LibjpegSession& session = *session_;
  out.resize(rect.size());
  session.reduction = reduction;
  session.rect = rect;
  session.out = out.data();
  session.out_stride = out.row_bytes();
  run(session, decode_step);
}

}  // namespace unstarve
