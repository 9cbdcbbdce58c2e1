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
    if (PyErr_ExceptionMatches(PyExc_TypeError) != 0) throw nb::python_error();
    PyErr_Clear();  // its text names a flag of the buffer protocol
    throw argument_error("image: found bytes that are not contiguous; expected contiguous ones. Use bytes(image).");
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
