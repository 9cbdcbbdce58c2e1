#include "unstarve/codecs/nvjpeg/nvjpeg_handles.h"

#include <catch2/catch.hpp>

#include "unstarve/codecs/nvjpeg/testing/host_functions.h"
#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// Objects that exist, of functions that count them; `failing` returns the status of an allocator failure.
int alive = 0;
enum class Failing { kNone, kState, kHeader };

nvjpeg::Functions counted(Failing failing) {
  nvjpeg::Functions f = testing::host_functions();
  f.create = [](int, void*, void*, unsigned, void** handle) { return *handle = &alive, ++alive, 0; };
  f.destroy = [](void*) { return --alive, 0; };
  f.state_create = [](void*, void** state) { return *state = &alive, ++alive, 0; };
  f.state_destroy = [](void*) { return --alive, 0; };
  f.stream_create = [](void*, void** stream) { return *stream = &alive, ++alive, 0; };
  f.stream_destroy = [](void*) { return --alive, 0; };
  if (failing == Failing::kState) f.state_create = [](void*, void**) { return 5; };
  if (failing == Failing::kHeader) f.stream_create = [](void*, void**) { return 5; };
  return f;
}

TEST_CASE("nvJPEG handles: three objects exist as long as the handles, also if one cannot be created") {
  alive = 0;
  {
    const NvjpegLibrary library(counted(Failing::kNone), true);
    const NvjpegHandles handles(library, 1, "hybrid");
    CHECK(alive == 3);
  }
  CHECK(alive == 0);
  for (const Failing failing : {Failing::kState, Failing::kHeader}) {
    const NvjpegLibrary library(counted(failing), true);
    try {
      const NvjpegHandles handles(library, 1, "hybrid");
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kMemory);
    }
    CHECK(alive == 0);
  }
}

TEST_CASE("nvJPEG handles: a machine without a decoder is reported, with what the backend requires") {
  nvjpeg::Functions f = counted(Failing::kNone);
  f.create = [](int, void*, void*, unsigned, void**) { return 8; };
  const NvjpegLibrary library(f, true);
  CHECK_THROWS_WITH(NvjpegHandles(library, 1, "hybrid"), Catch::EndsWith("expected a GPU with its driver"));
  CHECK_THROWS_WITH(NvjpegHandles(library, 3, "hardware"), Catch::EndsWith("JPEG engines (A100, H100 or later)"));
}

}  // namespace
}  // namespace unstarve
