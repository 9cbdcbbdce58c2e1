#pragma once
// libjpeg's error manager: notes the first failure and jumps to the guarded_call() around it; never prints or exits.
//
// Use: hold a JpegFailure, set cinfo.err = install(failure), run libjpeg inside guarded_call(failure.jump, ...), and
// when that returns false, throw jpeg_error(...). Which warnings count as failures is told in jpeg_decoder.h.
// Threads: a JpegFailure belongs to one decompressor, and is used by one thread at a time.
// This header needs libjpeg's; only the files that talk to libjpeg include it.

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <string>

#include <jpeglib.h>

#include "unstarve/core/error.h"

namespace unstarve {

struct JpegFailure {
  jpeg_error_mgr manager;  // first: libjpeg hands back only its address
  std::jmp_buf jump;
  int code;  // libjpeg's J_MESSAGE_CODE, or kTooManyScans
  char text[JMSG_LENGTH_MAX];
};

// Not one of libjpeg's codes, which are not negative.
inline constexpr int kTooManyScans = -1;

[[nodiscard]] jpeg_error_mgr* install(JpegFailure& failure) noexcept;

// Ends the guarded_call() with this code and libjpeg's text for it.
[[noreturn]] void fail(j_common_ptr cinfo, int code);

// "JPEG: ...", with `where` (may be empty) behind it: Error(kMemory) when memory ran out, else Error(kInput).
[[nodiscard]] Error jpeg_error(const JpegFailure& failure, const std::string& where);

}  // namespace unstarve
