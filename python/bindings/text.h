#pragma once
// Converts text between Python and the library. Replaces <nanobind/stl/string.h>, which supports UTF-8 only: names of
// files and classes may be any bytes, which Python represents as os.fsdecode() does (PEP 383).

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

namespace nanobind::detail {

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle text, std::uint32_t, cleanup_list*) noexcept {
    if (PyUnicode_Check(text.ptr()) == 0) return false;
    const object bytes = steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
    if (!bytes.is_valid()) {
      PyErr_Clear();
      return false;
    }
    value.assign(PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr())));
    return true;
  }

  static handle from_cpp(const std::string& text, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  }
};

}  // namespace nanobind::detail
