#pragma once
// `unstarve synth DIR`: writes the synthetic set as JPEG files, one folder per class.
//
//   DIR/000-disc-solid/00000.jpg  DIR/001-ring-stripes/00001.jpg  ...  DIR/unstarve-synth.json
//
// Up to 96 pixels every image is size x size; above, the longer side is `size` and the shorter three quarters of it or
// another proportion of photographs, upright or lying. Quality and chroma sampling are mixed as in ImageNet (three
// quarters 4:4:4, a fifth 4:2:0), which brings files near 100 KB at 500 pixels. With `test_images` the classes lie in
// DIR/train and DIR/test.
//
// Function:  the files depend on the options only, byte for byte, whatever the number of threads.
// Atomic:    everything is written into DIR.partial, which is renamed when it is whole and removed when writing fails;
//            what an earlier run left there is replaced. A DIR that holds the same set already is left as it is.
// Threads:   one call at a time per DIR (a second one is refused); `progress` is called from several threads, one at a
//            time.
// Failure:   Error(kArgument) for options out of range or a DIR that holds something else; Error(kIo).
// Cost:      about 10 ms per image of 500 pixels and core.

#include <cstdint>
#include <filesystem>
#include <functional>

namespace unstarve {

struct SynthOptions {
  int classes = 10;
  std::uint64_t images = 2000;
  int size = 500;  // longer side in pixels
  std::uint64_t seed = 1;
  std::uint64_t test_images = 0;  // above 0: also DIR/test, and the images go to DIR/train
  int threads = 0;                // 0: every usable core
};

struct SynthResult {
  std::uint64_t images = 0;  // training and test
  std::uint64_t bytes = 0;   // of all image files
  bool already_there = false;
};

// Called with the number of images written and to write.
using SynthProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

[[nodiscard]] SynthResult run_synth(const std::filesystem::path& folder, const SynthOptions& options,
                                    const SynthProgress& progress = {});

}  // namespace unstarve
