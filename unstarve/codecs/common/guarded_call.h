#pragma once
// Runs C code that reports errors by longjmp. This is the only file that calls setjmp.
//
// libjpeg and libpng must not return from their error functions. Our error functions record the failure in a plain
// struct and jump back to guarded_call(). The jump skips only frames of the C library and of `step`: a step must hold
// only numbers and pointers. Objects with destructors belong to the caller of guarded_call() or to the object that
// `context` points to. The caller throws the Error after guarded_call() has returned.
//
// Threads: any, each with its own jmp_buf.

#include <csetjmp>

namespace unstarve {

// True if `step(context)` returned, false if it jumped to `jump`.
[[nodiscard]] bool guarded_call(std::jmp_buf& jump, void (*step)(void*), void* context) noexcept;

}  // namespace unstarve
