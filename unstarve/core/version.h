#pragma once
// The version of the library, the program and the Python package (semantic versioning); equal to CMakeLists.txt's.

namespace unstarve {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace unstarve
