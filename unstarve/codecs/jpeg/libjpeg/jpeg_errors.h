#pragma once
// libjpeg's error manager: records the first failure and jumps to the enclosing guarded_call(); never prints or exits.
//
// Use: create a JpegFailure, set cinfo.err = install(failure), run libjpeg inside guarded_call(failure.jump, ...), and
// if that returns false, throw jpeg_error(...). jpeg_decoder.h documents which warnings count as failures.
// Threads: a JpegFailure belongs to one decompressor and is used by one thread at a time.
// This header includes libjpeg's; only files that call libjpeg include it.

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <string>

#include <jpeglib.h>
// After jpeglib.h, whose macros decide which messages exist and so their numbers.
#include <jerror.h>

#include "unstarve/core/error.h"

namespace unstarve {

struct JpegFailure {
  jpeg_error_mgr manager;  // first member: libjpeg passes only its address
  std::jmp_buf jump;
  int code;  // libjpeg's J_MESSAGE_CODE, or kTooManyScans
  char text[JMSG_LENGTH_MAX];
};

// Not one of libjpeg's codes, which are not negative.
inline constexpr int kTooManyScans = -1;

[[nodiscard]] jpeg_error_mgr* install(JpegFailure& failure) noexcept;

// Ends the guarded_call() with this code and libjpeg's text for it.
[[noreturn]] void fail(j_common_ptr cinfo, int code);

// "JPEG: ..." followed by `where` (may be empty) in parentheses: Error(kMemory) if out of memory, else Error(kInput).
[[nodiscard]] Error jpeg_error(const JpegFailure& failure, const std::string& where);

}  // namespace unstarve
