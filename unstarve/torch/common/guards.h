#pragma once
// Guards around libtorch: a scope for autocast, and the translation of exceptions.

#include <regex>
#include <string>
#include <string_view>
#include <utility>

#include <ATen/autocast_mode.h>
#include <torch/types.h>
#include <oneapi/dnnl/dnnl_common.hpp>

#include "unstarve/core/error.h"

namespace unstarve {

// Enables autocast to `type` on one kind of device during its lifetime; does nothing for float32. Affects only the
// calling thread.
//
// Cast weights are cached between uses. The outermost scope clears that cache at its end, because the optimiser then
// changes the weights.
class AutocastScope {
 public:
  AutocastScope(torch::DeviceType device, torch::ScalarType type)
      : device_(device),
        was_enabled_(at::autocast::is_autocast_enabled(device)),
        was_type_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::increment_nesting();
    at::autocast::set_autocast_enabled(device, type != torch::kFloat32);
    if (type != torch::kFloat32) at::autocast::set_autocast_dtype(device, type);
  }
  ~AutocastScope() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, was_enabled_);
    at::autocast::set_autocast_dtype(device_, was_type_);
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  torch::DeviceType device_;
  bool was_enabled_;
  torch::ScalarType was_type_;
};

// Casts of weights by autocast are not cached during its lifetime, so that a recorded step contains them all. Affects
// only the calling thread.
class UncachedCasts {
 public:
  UncachedCasts() : was_cached_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::clear_cache();
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~UncachedCasts() { at::autocast::set_autocast_cache_enabled(was_cached_); }
  UncachedCasts(const UncachedCasts&) = delete;
  UncachedCasts& operator=(const UncachedCasts&) = delete;

 private:
  bool was_cached_;
};

// A message without the source files of libraries: Gloo begins its messages with "[/pytorch/.../pair.cc:547] ".
inline std::string without_source_files(std::string_view message) {
  static const std::regex location(R"(\[[^\[\] ]+\.(cc|cpp|cu|h):[0-9]+\] ?)");
  return std::regex_replace(std::string(message), location, "");
}

// Runs `body` and converts exceptions of libtorch to Error, beginning with the operation. Failed exchanges with other
// ranks are Error(kIo).
template <class Body>
decltype(auto) translate_errors(std::string_view operation, Body&& body) {
  const auto fail = [&](ErrorKind kind, std::string_view reason) -> Error {
    return {kind, std::string(operation) + ": " + without_source_files(reason)};
  };
  try {
    return std::forward<Body>(body)();
  } catch (const c10::DistError& error) {
    throw fail(ErrorKind::kIo, error.what_without_backtrace());
  } catch (const c10::OutOfMemoryError& error) {
    throw fail(ErrorKind::kMemory, error.what_without_backtrace());
  } catch (const c10::Error& error) {
    // The host allocator has no exception type.
    const std::string_view reason = error.what_without_backtrace();
    const bool memory = reason.find("can't allocate memory") != std::string_view::npos;
    throw fail(memory ? ErrorKind::kMemory : ErrorKind::kInternal, reason);
  } catch (const std::bad_alloc&) {
    throw fail(ErrorKind::kMemory, "out of memory");
  } catch (const dnnl::error& error) {  // of operators on the CPU, which also need memory for generated code
    const bool memory = error.status == dnnl_out_of_memory || error.status == dnnl_runtime_error;
    throw fail(memory ? ErrorKind::kMemory : ErrorKind::kInternal,
               "oneDNN: " + std::string(error.what()) + ", status " + std::to_string(error.status));
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {  // of Gloo
    throw fail(ErrorKind::kIo, error.what());
  }
}

}  // namespace unstarve
