#include "python/bindings/bindings.h"

#include <exception>
#include <string>

#include "python/bindings/text.h"
#include "unstarve/core/error.h"

namespace unstarve::python {
namespace {

namespace nb = nanobind;

const char* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kArgument: return "ArgumentError";
    case ErrorKind::kInput: return "InputError";
    case ErrorKind::kIo: return "IoError";
    case ErrorKind::kMemory: return "OutOfMemoryError";
    case ErrorKind::kMissing: return "MissingError";
    case ErrorKind::kCheck: return "CheckError";
    case ErrorKind::kCancelled: return "CancelledError";
    case ErrorKind::kInternal: return "InternalError";
  }
  return "InternalError";
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const nb::object type = nb::module_::import_("unstarve.errors").attr(class_of(error.kind()));
      PyErr_SetObject(type.ptr(), nb::cast(std::string(error.what())).ptr());
    }
  });
}

}  // namespace unstarve::python
