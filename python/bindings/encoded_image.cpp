#include "python/bindings/encoded_image.h"

#include "python/bindings/text.h"
#include "unstarve/core/file.h"
#include "unstarve/core/format_error.h"

namespace unstarve::python {

namespace nb = nanobind;

EncodedImage::EncodedImage(nb::handle source) {
  if (PyUnicode_Check(source.ptr()) != 0) {
    path_ = nb::cast<std::string>(source);
  } else if (PyObject_GetBuffer(source.ptr(), &buffer_, PyBUF_SIMPLE) != 0) {
    if (PyErr_ExceptionMatches(PyExc_BufferError) == 0 && PyErr_ExceptionMatches(PyExc_ValueError) == 0)
      throw nb::python_error();
    const nb::python_error error;  // BufferError, or of NumPy ValueError
    throw argument_error("image: found {}; expected contiguous bytes. Use bytes(image).",
                         nb::str(error.value()).c_str());
  }
}

EncodedImage::~EncodedImage() {
  if (!path_) PyBuffer_Release(&buffer_);
}

std::span<const std::uint8_t> EncodedImage::bytes() {
  if (!path_) return {static_cast<const std::uint8_t*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  file_ = read_text_file(*path_);
  return {reinterpret_cast<const std::uint8_t*>(file_.data()), file_.size()};
}

Error EncodedImage::named(const Error& error) const {
  if (error.kind() == ErrorKind::kIo) return error;  // names the path already
  return {error.kind(), (path_ ? "'" + *path_ + "'" : std::string("image")) + ": " + error.what()};
}

}  // namespace unstarve::python
