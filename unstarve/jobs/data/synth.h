#pragma once
// `unstarve synth DIR`: write a synthetic dataset of JPEG files, one folder per class.
//
//   DIR/000-disc-solid/00000.jpg  DIR/001-ring-stripes/00001.jpg  ...  DIR/unstarve-synth.json
//
// Up to 96 pixels all images are size x size. Above, the longer side is `size` and the shorter side follows typical
// aspect ratios of photographs, in portrait or landscape. Quality and chroma subsampling are mixed as in ImageNet
// (three quarters 4:4:4, a fifth 4:2:0), which gives files of about 100 KB at 500 pixels. With `test_images`, classes
// are below DIR/train and DIR/test.
//
// Result:  files depend only on the options, byte for byte, for any number of threads.
// Atomic:  written to DIR.partial, which is renamed when complete and removed on failure; a leftover DIR.partial is
//          replaced. A DIR with the same dataset is left unchanged.
// Threads: one call at a time per DIR (a second concurrent call fails); starts its own workers.
// Failure: Error(kArgument) for options out of range or a DIR with other content; Error(kIo).
// Cost:    about 10 ms per 500-pixel image and core.

#include <cstdint>
#include <filesystem>

#include "unstarve/jobs/common/progress.h"

namespace unstarve {

struct SynthOptions {
  int classes = 10;
  std::uint64_t images = 2000;
  int size = 500;  // longer side in pixels
  std::uint64_t seed = 1;
  std::uint64_t test_images = 0;  // above 0: written to DIR/test; training images go to DIR/train
  int threads = 0;                // 0: every usable core
};

struct SynthResult {
  std::uint64_t images = 0;  // training and test
  std::uint64_t bytes = 0;   // of all image files
  bool already_there = false;
};

[[nodiscard]] SynthResult run_synth(const std::filesystem::path& folder, const SynthOptions& options,
                                    const Progress& progress = {});

}  // namespace unstarve
