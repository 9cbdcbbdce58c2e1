#include "unstarve/codecs/common/guarded_call.h"

namespace unstarve {

bool guarded_call(std::jmp_buf& jump, void (*step)(void*), void* context) noexcept {
  if (setjmp(jump) != 0) return false;
  step(context);
  return true;
}

}  // namespace unstarve
