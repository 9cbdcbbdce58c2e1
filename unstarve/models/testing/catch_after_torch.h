#pragma once
// Restores Catch2's CHECK, which a logging header of libtorch replaces by one that ends the program. Include it last.

#include <catch2/catch.hpp>

#undef CHECK
#define CHECK(...) INTERNAL_CATCH_TEST("CHECK", Catch::ResultDisposition::ContinueOnFailure, __VA_ARGS__)
