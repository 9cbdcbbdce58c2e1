#pragma once
// UNSTARVE_ASAN, UNSTARVE_MSAN and UNSTARVE_TSAN: 1 if this file is compiled with AddressSanitizer, MemorySanitizer or
// ThreadSanitizer, else 0.
//
// GCC defines a macro, Clang a feature. Highway's HWY_IS_ASAN (1.0.3) supports only Clang's.

#if defined(__has_feature)
#define UNSTARVE_HAS_FEATURE(name) __has_feature(name)
#else
#define UNSTARVE_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || UNSTARVE_HAS_FEATURE(address_sanitizer)
#define UNSTARVE_ASAN 1
#else
#define UNSTARVE_ASAN 0
#endif

#if UNSTARVE_HAS_FEATURE(memory_sanitizer)
#define UNSTARVE_MSAN 1
#else
#define UNSTARVE_MSAN 0
#endif

#if defined(__SANITIZE_THREAD__) || UNSTARVE_HAS_FEATURE(thread_sanitizer)
#define UNSTARVE_TSAN 1
#else
#define UNSTARVE_TSAN 0
#endif

#undef UNSTARVE_HAS_FEATURE
