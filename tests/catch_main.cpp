#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cstdlib>

int main(int argc, char** argv) {
  // Tests store indexes in their temporary folders, not in the user's cache folder.
  ::setenv("UNSTARVE_INDEX", "next_to_data", 1);
  return Catch::Session().run(argc, argv);
}
