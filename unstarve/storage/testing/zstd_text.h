#pragma once
// For tests: text as Zstandard frames.

#include <zstd.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "unstarve/storage/bytes/little_endian.h"

namespace unstarve::testing {

struct ZstdSettings {
  int level = 3;
  int window_log = 0;     // 0: the default of the level
  bool checksum = false;  // the zstd program writes one, libraries do not
};

inline std::string zstandard(std::string_view text, const ZstdSettings& settings = {}) {
  ZSTD_CCtx* const state = ::ZSTD_createCCtx();
  ::ZSTD_CCtx_setParameter(state, ZSTD_c_compressionLevel, settings.level);
  ::ZSTD_CCtx_setParameter(state, ZSTD_c_windowLog, settings.window_log);
  ::ZSTD_CCtx_setParameter(state, ZSTD_c_checksumFlag, settings.checksum ? 1 : 0);
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  ZSTD_outBuffer room{out.data(), out.size(), 0};
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  // Compresses in halves, so that the size is unknown at the start and the window is as large as configured.
  in.size = text.size() / 2;
  std::size_t left = ::ZSTD_compressStream2(state, &room, &in, ZSTD_e_continue);
  in.size = text.size();
  if (::ZSTD_isError(left) == 0) left = ::ZSTD_compressStream2(state, &room, &in, ZSTD_e_end);
  ::ZSTD_freeCCtx(state);
  if (left != 0) throw std::runtime_error("ZSTD_compressStream2");
  out.resize(room.pos);
  return out;
}

inline std::string skippable_frame(std::string_view inside) {
  std::string frame;
  append_little(frame, std::uint32_t{ZSTD_MAGIC_SKIPPABLE_START} + 3);
  append_little(frame, static_cast<std::uint32_t>(inside.size()));
  return frame + std::string(inside);
}

}  // namespace unstarve::testing
