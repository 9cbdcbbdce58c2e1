#pragma once
// The kernel: a team of threads computes one sample. Written once for the host and for GPUs.
//
// A Team has
//   each(count, f)     calls f(i) for all of [0, count), in any order, concurrently; returns after all have run
//   sum(count, f)      likewise; returns the sum of all f(i) to every thread
//   add(to, more)      atomically, to a counter of counts()
//   counts()           memory shared by the team

#include <cstdint>

#include "unstarve/ops/colour/measured.h"
#include "unstarve/ops/gpu/output.h"
#include "unstarve/ops/gpu/read_layer.h"

namespace unstarve::gpu {

struct Counts {
  std::uint32_t of[kChannels][256];
};

inline constexpr int kWeightBits = 16;  // of kAddWeighted

namespace running {

template <class Team, class Make>
UNSTARVE_HD void each_pixel(Team& team, Size size, const Make& make) {
  team.each(static_cast<std::uint32_t>(size.width) * static_cast<std::uint32_t>(size.height), [&](std::uint32_t i) {
    const auto width = static_cast<std::uint32_t>(size.width);
    make(i, static_cast<std::int32_t>(i % width), static_cast<std::int32_t>(i / width));
  });
}

// Writes the table that blends with the mean luma, for all three channels.
template <class Team>
UNSTARVE_HD void contrast_table(const Task& task, const Command& command, Team& team) {
  const Size size = task.program.layers[command.layer].size;
  const auto width = static_cast<std::uint32_t>(size.width);
  const std::uint32_t pixels = width * static_cast<std::uint32_t>(size.height);
  const std::uint64_t sum = team.sum(pixels, [&](std::uint32_t i) {
    const Pixel pixel =
        read_layer(task, command.layer, static_cast<std::int32_t>(i % width), static_cast<std::int32_t>(i / width));
    return static_cast<std::uint32_t>(luma(pixel[0], pixel[1], pixel[2]));
  });
  const auto mean = static_cast<std::int32_t>((2 * sum + pixels) / (2 * std::uint64_t{pixels}));
  team.each(256, [&](std::uint32_t value) {
    for (auto& of : task.tables()[command.to])
      of[value] = point::blended(static_cast<std::int32_t>(value), mean, command.weight);
  });
}

template <class Team>
UNSTARVE_HD void count_values(const Task& task, const Command& command, Team& team) {
  Counts& counts = team.counts();
  team.each(kChannels * 256, [&](std::uint32_t i) { counts.of[i / 256][i % 256] = 0; });
  each_pixel(team, task.program.layers[command.layer].size, [&](std::uint32_t, std::int32_t x, std::int32_t y) {
    const Pixel pixel = read_layer(task, command.layer, x, y);
    for (std::size_t c = 0; c < kChannels; ++c) team.add(counts.of[c][pixel[c]], 1U);
  });
}

template <class Team>
UNSTARVE_HD void equalize_table(const Task& task, const Command& command, Team& team) {
  count_values(task, command, team);
  const Counts& counts = team.counts();
  team.each(kChannels * 256, [&](std::uint32_t i) {
    const std::uint32_t* const of = counts.of[i / 256];
    const std::uint32_t value = i % 256;
    std::uint64_t all = 0, last = 0, lesser = 0;
    for (std::uint32_t v = 0; v < 256; ++v) {
      if (v < value) lesser += of[v];
      all += of[v];
      if (of[v] > 0) last = of[v];
    }
    const std::uint64_t step = (all - last) / 255;
    task.tables()[command.to][i / 256][value] = equalized(static_cast<std::uint8_t>(value), step / 2 + lesser, step);
  });
}

template <class Team>
UNSTARVE_HD void auto_contrast_table(const Task& task, const Command& command, Team& team) {
  count_values(task, command, team);
  const Counts& counts = team.counts();
  team.each(kChannels * 256, [&](std::uint32_t i) {
    const std::uint32_t* const of = counts.of[i / 256];
    int least = 0, most = 255;
    while (least < 255 && of[least] == 0) ++least;
    while (most > 0 && of[most] == 0) --most;
    task.tables()[command.to][i / 256][i % 256] = spread(static_cast<int>(i % 256), least, most);
  });
}

}  // namespace running

// Runs all commands of a sample. No other team uses `task.scratch`.
template <class Team>
UNSTARVE_HD void run_sample(const Task& task, std::int64_t sample, const Output& output, Team& team) {
  using namespace running;
  const SampleProgram& program = task.program.samples[sample];
  for (std::int32_t k = 0; k < program.commands; ++k) {
    const Command command = task.program.commands[program.first_command + k];
    const Layer& layer = task.program.layers[command.layer];
    switch (command.kind) {
      case CommandKind::kMakePixels:
      case CommandKind::kSave: {
        std::uint8_t* const made = command.kind == CommandKind::kSave ? task.saved() : task.slot(command.to);
        each_pixel(team, layer.size, [&](std::uint32_t i, std::int32_t x, std::int32_t y) {
          const Pixel pixel = read_layer(task, command.layer, x, y);
          for (std::size_t c = 0; c < kChannels; ++c) made[std::size_t{i} * kChannels + c] = pixel[c];
        });
        break;
      }
      case CommandKind::kAddWeighted:
        each_pixel(team, layer.size, [&](std::uint32_t i, std::int32_t x, std::int32_t y) {
          const Pixel pixel = read_layer(task, command.layer, x, y);
          for (std::size_t c = 0; c < kChannels; ++c) {
            std::uint32_t& sum = task.sums()[std::size_t{i} * kChannels + c];
            sum = (command.to == 0 ? 0 : sum) + static_cast<std::uint32_t>(command.weight) * pixel[c];
          }
        });
        break;
      case CommandKind::kTakeSums:
        each_pixel(team, layer.size, [&](std::uint32_t i, std::int32_t, std::int32_t) {
          for (std::size_t c = 0; c < kChannels; ++c) {
            const std::size_t at = std::size_t{i} * kChannels + c;
            task.slot(command.to)[at] = static_cast<std::uint8_t>(task.sums()[at] >> kWeightBits);
          }
        });
        break;
      case CommandKind::kBlurAcross:
        each_pixel(team, layer.size, [&](std::uint32_t i, std::int32_t x, std::int32_t y) {
          const auto sums = blurred_across(task, layer, x, y);
          for (std::size_t c = 0; c < kChannels; ++c) task.wide()[std::size_t{i} * kChannels + c] = sums[c];
        });
        break;
      case CommandKind::kContrast: contrast_table(task, command, team); break;
      case CommandKind::kEqualize: equalize_table(task, command, team); break;
      case CommandKind::kAutoContrast: auto_contrast_table(task, command, team); break;
      case CommandKind::kStore:
        each_pixel(team, layer.size, [&](std::uint32_t, std::int32_t x, std::int32_t y) {
          store_pixel(output, sample, x, y, read_layer(task, command.layer, x, y));
        });
        break;
    }
  }
}

}  // namespace unstarve::gpu
