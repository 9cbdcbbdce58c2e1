// Without a GPU nvJPEG creates no handle. These tests therefore use stand-ins for its functions that decode into host
// memory by the host's decoder and fail as nvJPEG does: one bad file fails the whole batch.
#include "unstarve/codecs/nvjpeg/nvjpeg_decoder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/codecs/decoder.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"

namespace unstarve {
namespace {

using Catch::Matchers::Contains;

// Records the calls of the functions; global because they are C functions.
struct Seen {
  int live_handles = 0, live_states = 0, live_headers = 0;
  int initialized_for = 0, threads = 0, batches = 0, single = 0;
  unsigned flags = 0;
  std::vector<int> backends;
  Size header;
  bool progressive = false;
  nvjpeg::Status broken = 0;  // the result of every decode call
} seen;

int object;  // handles and states have its address

bool is_progressive(const unsigned char* data, std::size_t length) {
  for (std::size_t i = 0; i + 1 < length; ++i)
    if (data[i] == 0xFF && data[i + 1] == 0xC2) return true;  // SOF2
  return false;
}

nvjpeg::Status decode_to(const unsigned char* data, std::size_t length, const nvjpeg::Image& to) {
  Decoder decoder;
  Image image;
  try {
    decoder.open({data, length});
    decoder.decode({}, image);
  } catch (const Error&) {
    return 3;  // BAD_JPEG
  }
  for (int y = 0; y < image.size().height; ++y)
    std::memcpy(to.channel[0] + static_cast<std::size_t>(y) * to.pitch[0], image.row(y), image.row_bytes());
  return 0;
}

nvjpeg::Functions functions() {
  nvjpeg::Functions f;
  f.get_property = [](int type, int* value) {
    *value = 13 - type;
    return 0;
  };
  f.create = [](int backend, void*, void*, unsigned flags, void** handle) {
    seen.backends.push_back(backend);
    seen.flags = flags;
    ++seen.live_handles;
    *handle = &object;
    return 0;
  };
  f.destroy = [](void*) { return --seen.live_handles, 0; };
  f.state_create = [](void*, void** state) {
    *state = &object;
    return ++seen.live_states, 0;
  };
  f.state_destroy = [](void*) { return --seen.live_states, 0; };
  f.stream_create = [](void*, void** stream) {
    *stream = &object;
    return ++seen.live_headers, 0;
  };
  f.stream_destroy = [](void*) { return --seen.live_headers, 0; };
  f.stream_parse_header = [](void*, const unsigned char* data, std::size_t length, void*) {
    try {
      seen.header = Decoder().open({data, length}).size;
    } catch (const Error&) {
      return 3;
    }
    seen.progressive = is_progressive(data, length);
    return 0;
  };
  f.stream_dimensions = [](void*, unsigned* width, unsigned* height) {
    *width = static_cast<unsigned>(seen.header.width);
    *height = static_cast<unsigned>(seen.header.height);
    return 0;
  };
  f.batched_supported = [](void*, void*, int* no) {
    *no = seen.progressive;
    return 0;
  };
  f.batched_initialize = [](void*, void*, int batch, int threads, int format) {
    seen.initialized_for = batch;
    seen.threads = threads;
    return format == nvjpeg::kRgbInterleaved ? 0 : 2;
  };
  f.decode_batched = [](void*, void*, const unsigned char* const* data, const std::size_t* lengths, nvjpeg::Image* to,
                        void*) {
    ++seen.batches;
    if (seen.broken != 0) return seen.broken;
    for (int i = 0; i < seen.initialized_for; ++i)
      if (const auto status = decode_to(data[i], lengths[i], to[i]); status != 0) return status;
    return 0;
  };
  f.decode = [](void*, void*, const unsigned char* data, std::size_t length, int, nvjpeg::Image* to, void*) {
    ++seen.single;
    return decode_to(data, length, *to);
  };
  return f;
}

struct Files {
  std::vector<std::vector<std::uint8_t>> bytes;
  std::vector<Image> expected;
  std::vector<std::vector<std::uint8_t>> outputs;
  std::vector<NvjpegJob> jobs;

  explicit Files(std::initializer_list<const char*> names) {
    Decoder decoder;
    for (const char* name : names) {
      const MappedFile file(std::filesystem::path("fuzz/corpus/jpeg") / name);
      bytes.emplace_back(file.bytes().begin(), file.bytes().end());
      decoder.open(bytes.back());
      decoder.decode({}, expected.emplace_back());
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      outputs.emplace_back(expected[i].bytes(), std::uint8_t{0xEE});
      jobs.push_back({bytes[i], expected[i].size(), outputs[i].data()});
    }
  }
  [[nodiscard]] bool right(std::size_t i) const {
    return std::memcmp(outputs[i].data(), expected[i].data(), expected[i].bytes()) == 0;
  }
  // Truncates its entropy-coded data.
  void cut(std::size_t i) {
    bytes[i].resize(bytes[i].size() * 3 / 4);
    jobs[i].file = bytes[i];
  }
};

TEST_CASE("a batch is decoded by one call, each file to its destination", "[nvjpeg]") {
  seen = {};
  const NvjpegLibrary library(functions());
  CHECK(library.version() == "13.12.11");
  {
    NvjpegDecoder decoder(library, NvjpegBackend::kHybrid, 3);
    Files files({"420.jpg", "grey.jpg", "444.jpg", "progressive_420.jpg"});
    for (int round = 0; round < 2; ++round) {
      for (auto& pixels : files.outputs) std::fill(pixels.begin(), pixels.end(), std::uint8_t{0xEE});
      const auto rejections = decoder.decode(files.jobs, nullptr);
      REQUIRE(rejections.size() == 4);
      for (std::size_t i = 0; i < 4; ++i) {
        CHECK(rejections[i].empty());
        CHECK(files.right(i));
      }
    }
    CHECK(seen.batches == 2);
    CHECK(seen.single == 0);
    CHECK(seen.threads == 3);
    CHECK(seen.flags == nvjpeg::kUpsamplingWithInterpolation);
    CHECK(decoder.decode({}, nullptr).empty());
    CHECK(seen.batches == 2);
  }
  CHECK(seen.backends == std::vector<int>{1});
  CHECK(seen.live_handles + seen.live_states + seen.live_headers == 0);
}

TEST_CASE("one damaged file does not affect the others of its batch", "[nvjpeg]") {
  seen = {};
  const NvjpegLibrary library(functions());
  NvjpegDecoder decoder(library, NvjpegBackend::kGpuHybrid, 1);
  Files files({"420.jpg", "444.jpg", "422.jpg"});
  files.cut(1);
  const auto rejections = decoder.decode(files.jobs, nullptr);
  CHECK(rejections[0].empty());
  CHECK(rejections[1] == "BAD_JPEG");
  CHECK(rejections[2].empty());
  CHECK(files.right(0));
  CHECK(files.right(2));
  CHECK(seen.single == 3);  // the batch failed, so its files are decoded one by one
  // The next batch is decoded by one call again.
  Files whole({"420.jpg", "444.jpg", "422.jpg"});
  (void)decoder.decode(whole.jobs, nullptr);
  CHECK(whole.right(1));
  CHECK(seen.batches == 2);
  CHECK(seen.single == 3);
}

TEST_CASE("files that the engines do not support, or of another size, are left to the host", "[nvjpeg]") {
  seen = {};
  const NvjpegLibrary library(functions());
  NvjpegDecoder decoder(library, NvjpegBackend::kHardware, 1);
  Files files({"420.jpg", "progressive_420.jpg", "444.jpg"});
  ++files.jobs[2].size.width;
  const auto rejections = decoder.decode(files.jobs, nullptr);
  CHECK(rejections[0].empty());
  CHECK(files.right(0));
  CHECK(rejections[1] == "not supported by the JPEG engines");
  CHECK(rejections[2] == "nvJPEG reads 45x37 pixels, the host 46x37");
  CHECK(seen.initialized_for == 1);
}

TEST_CASE("a failure of nvJPEG itself is an error", "[nvjpeg]") {
  seen = {};
  const NvjpegLibrary library(functions());
  NvjpegDecoder decoder(library, NvjpegBackend::kHybrid, 1);
  Files files({"420.jpg"});
  seen.broken = 6;
  CHECK_THROWS_WITH(decoder.decode(files.jobs, nullptr), "nvJPEG, decode a batch: EXECUTION_FAILED");
  CHECK_THROWS_WITH(NvjpegDecoder(library, NvjpegBackend::kHybrid, 0), "nvJPEG: 0 CPU threads; expected 1 or more");
}

TEST_CASE("a machine without a GPU is reported, and nothing leaks", "[nvjpeg]") {
  seen = {};
  auto none = functions();
  none.create = [](int, void*, void*, unsigned, void**) { return 6; };
  try {
    const NvjpegDecoder decoder(NvjpegLibrary(none), NvjpegBackend::kHardware, 1);
    FAIL("a decoder without a device");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kMissing);
    CHECK_THAT(error.what(), Contains("nvJPEG 13.12.11, backend hardware: no decoder on this machine"));
    CHECK_THAT(error.what(), Contains("EXECUTION_FAILED"));
  }
  auto half = functions();
  half.stream_create = [](void*, void**) { return 5; };
  CHECK_THROWS_WITH(NvjpegDecoder(NvjpegLibrary(half), NvjpegBackend::kHybrid, 1),
                    "nvJPEG, create a decoder state: ALLOCATOR_FAILURE");
  CHECK(seen.live_handles + seen.live_states + seen.live_headers == 0);
}

TEST_CASE("a missing or unsuitable library is an error that says what to install", "[nvjpeg]") {
  const char* const named = std::getenv("UNSTARVE_NVJPEG");
  const std::string before = named == nullptr ? "" : named;
  for (const char* path : {"/nowhere/libnvjpeg.so.13", "libm.so.6"}) {
    INFO(path);
    ::setenv("UNSTARVE_NVJPEG", path, 1);
    try {
      (void)NvjpegLibrary::open_any();
      FAIL("opened");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kMissing);
      CHECK_THAT(error.what(), Contains(path));
      CHECK_THAT(error.what(), Contains("install the wheel nvidia-nvjpeg"));
    }
  }
  if (named == nullptr)
    ::unsetenv("UNSTARVE_NVJPEG");
  else
    ::setenv("UNSTARVE_NVJPEG", before.c_str(), 1);
}

#ifdef UNSTARVE_NVJPEG_STAND_IN  // not where folders are tested without the rest of the tree: tools/arm64.sh
TEST_CASE("libraries of a later CUDA version than the driver's are skipped", "[nvjpeg]") {
  if (std::getenv("UNSTARVE_NVJPEG") != nullptr) {
    WARN("SKIPPED, UNSTARVE_NVJPEG says which library it is");
    return;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "unstarve-nvjpeg-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string of_13 = folder + "/libnvjpeg.so.13.0.4", of_12 = folder + "/libnvjpeg.so.12";
  for (const std::string& path : {of_13, of_12}) std::filesystem::create_symlink(UNSTARVE_NVJPEG_STAND_IN, path);
  CHECK(NvjpegLibrary::open_any({of_13, of_12}).path() == of_13);
  CHECK(NvjpegLibrary::open_any({of_13, of_12}, "13.1").path() == of_13);
  CHECK(NvjpegLibrary::open_any({of_13, of_12}, "12.4").path() == of_12);
  CHECK_THROWS_WITH(NvjpegLibrary::open_any({of_13, of_12}, "11.8"),
                    Contains(of_13 + " requires CUDA 13, the driver supports up to CUDA 11.8; " + of_12 +
                             " requires CUDA 12, the driver") &&
                        Contains("install the wheel nvidia-nvjpeg (nvidia-nvjpeg-cu12 for drivers of CUDA 12)"));
  std::filesystem::remove_all(folder);
}
#endif

TEST_CASE("nvJPEG is opened at the path in UNSTARVE_NVJPEG", "[nvjpeg]") {
  if (std::getenv("UNSTARVE_NVJPEG") == nullptr) {
    WARN("SKIPPED, nvJPEG is not opened: UNSTARVE_NVJPEG is not set to its path");
    return;
  }
  const NvjpegLibrary library = NvjpegLibrary::open_any();
  CHECK_THAT(library.version(), Catch::Matchers::StartsWith("1"));
  try {
    const NvjpegDecoder decoder(library, NvjpegBackend::kHybrid, 1);
  } catch (const Error& error) {
    WARN("no device: " << error.what());
    CHECK(error.kind() == ErrorKind::kMissing);
  }
}

TEST_CASE("files that nvJPEG cannot turn upright or convert to RGB are not passed to it", "[nvjpeg]") {
  CHECK(why_not_nvjpeg({Encoding::kJpeg, {8, 8}, 1, 3}).empty());
  CHECK(why_not_nvjpeg({Encoding::kJpeg, {8, 8}, 1, 1}).empty());
  CHECK(why_not_nvjpeg({Encoding::kJpeg, {8, 8}, 6, 3}) == "EXIF orientation 6");
  CHECK(why_not_nvjpeg({Encoding::kJpeg, {8, 8}, 1, 4}) == "4 components");
  CHECK_THAT(why_not_nvjpeg({Encoding::kPng, {8, 8}, 1, 3}), Contains("not JPEG"));
  ImageHeader header{Encoding::kJpeg, {8, 8}, 1, 3};
  header.jpeg = JpegKind::kProgressive;
  CHECK(why_not_nvjpeg(header, NvjpegBackend::kGpuHybrid).empty());
  CHECK_THAT(why_not_nvjpeg(header, NvjpegBackend::kHardware), Contains("several scans"));
  header.jpeg = JpegKind::kArithmetic;
  CHECK(why_not_nvjpeg(header) == "arithmetic coding");
  header.jpeg = JpegKind::kDepth;
  CHECK(why_not_nvjpeg(header) == "more than 8 bits");
}

}  // namespace
}  // namespace unstarve
