#include "unstarve/core/cancel.h"

#include <utility>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

thread_local std::stop_token current;

}  // namespace

CancelScope::CancelScope(std::stop_token token) : before_(std::exchange(current, std::move(token))) {}

CancelScope::~CancelScope() { current = std::move(before_); }

const std::stop_token& cancel_token() noexcept { return current; }

void throw_if_cancelled() {
  if (current.stop_requested()) throw Error(ErrorKind::kCancelled, "stopped");
}

}  // namespace unstarve
