#pragma once
// The bytes of an encoded image that Python passes: a path (str), or a bytes-like object.
//
// Ownership: holds the object's buffer, or the contents of the file after bytes().
// Threads:   one at a time. Created and destroyed with the GIL; bytes() and named() need none.
// Failure:   Error(kIo) from bytes() for a file that cannot be read; from the constructor TypeError, or
//            Error(kArgument) for bytes that are not contiguous.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "unstarve/core/error.h"

namespace unstarve::python {

class EncodedImage {
 public:
  explicit EncodedImage(nanobind::handle source);
  ~EncodedImage();
  EncodedImage(const EncodedImage&) = delete;
  EncodedImage& operator=(const EncodedImage&) = delete;

  [[nodiscard]] std::span<const std::uint8_t> bytes();
  // The error with the name of the image before its message.
  [[nodiscard]] Error named(const Error& error) const;

 private:
  std::optional<std::string> path_;
  std::string file_;
  Py_buffer buffer_{};
};

}  // namespace unstarve::python
