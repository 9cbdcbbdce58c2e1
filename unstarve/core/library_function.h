#pragma once
// A function of a library that was loaded at run time.
//
// Threads: any. Failure: none; a function that the library lacks is null.

#include <dlfcn.h>

namespace unstarve {

// `library`: a handle of dlopen(). `function`: a pointer to a function of the type that `name` has.
template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace unstarve
