#pragma once
// The one place where setjmp is: runs C code that reports its errors by longjmp.
//
// libjpeg and libpng must not return from their error functions. Ours note what happened in a plain struct and jump
// to where guarded_call() was called. Between the two lie only frames of the C library and of `step`; a step therefore
// holds nothing but numbers and pointers, and everything that has a destructor lives in the caller of guarded_call() or
// in the object behind `context`. What was noted becomes an Error after guarded_call() has returned.
//
// Threads: any, each with a jump of its own.

#include <csetjmp>

namespace unstarve {

// True when `step(context)` came to its end, false when it jumped to `jump`.
[[nodiscard]] bool guarded_call(std::jmp_buf& jump, void (*step)(void*), void* context) noexcept;

}  // namespace unstarve
