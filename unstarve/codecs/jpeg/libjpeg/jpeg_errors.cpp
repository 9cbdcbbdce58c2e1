#include "unstarve/codecs/jpeg/libjpeg/jpeg_errors.h"

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

[[noreturn]] void error_exit(j_common_ptr cinfo) {
  auto* failure = reinterpret_cast<JpegFailure*>(cinfo->err);
  failure->code = cinfo->err->msg_code;
  if (failure->code >= 0) cinfo->err->format_message(cinfo, failure->text);
  std::longjmp(failure->jump, 1);
}

// Level -1 is a warning, 0 and above are traces.
void emit_message(j_common_ptr cinfo, int level) {
  if (level >= 0) return;
  switch (cinfo->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_NOT_SEQUENTIAL: return;
    default: error_exit(cinfo);
  }
}

void output_message(j_common_ptr) {}

// The process of a frame marker that libjpeg does not decode (ITU-T T.81, table B.1).
std::string process_of(int marker) {
  const std::string number = fmt::format("JPEG (SOF{})", marker - 0xc0);
  switch (marker) {
    case 0xc3:
    case 0xcb: return "a lossless " + number;
    case 0xc8: return "a reserved " + number;
    default: return "a hierarchical " + number;
  }
}

}  // namespace

jpeg_error_mgr* install(JpegFailure& failure) noexcept {
  jpeg_std_error(&failure.manager);
  failure.manager.error_exit = error_exit;
  failure.manager.emit_message = emit_message;
  failure.manager.output_message = output_message;
  failure.code = 0;
  failure.text[0] = '\0';
  return &failure.manager;
}

void fail(j_common_ptr cinfo, int code) {
  cinfo->err->msg_code = code;
  error_exit(cinfo);
}

Error jpeg_error(const JpegFailure& failure, const std::string& where) {
  const std::string suffix = where.empty() ? "" : " (" + where + ")";
  switch (failure.code) {
    case JERR_OUT_OF_MEMORY: return memory_error("JPEG: out of memory{}", suffix);
    case JERR_INPUT_EOF: return input_error("JPEG: truncated: the file ends too early{}", suffix);
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: return input_error("JPEG: truncated or damaged: {}{}", failure.text, suffix);
    case JERR_SOF_UNSUPPORTED:
      return input_error("JPEG: found {}{}; expected baseline, extended or progressive. Convert the image.",
                         process_of(failure.manager.msg_parm.i[0]), suffix);
    case kTooManyScans:
      return input_error("JPEG: more than 500 scans (a decompression bomb){}; expected at most 500. Remove the file.",
                         suffix);
    default: return input_error("JPEG: {}{}", failure.text, suffix);
  }
}

}  // namespace unstarve
