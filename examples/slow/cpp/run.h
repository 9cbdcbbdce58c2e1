#pragma once
// What the C++ programs of this folder share: their arguments, a count of their steps, and a classifier.
//
//   PROGRAM [--fixed] [--seconds S] [--data FOLDER]      FOLDER: as prepared by common.py

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

// The first step is not part of the result, because it includes the start of threads.
class Run {
 public:
  Run(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string option = argv[i];
      if (option == "--fixed") {
        fixed = true;
      } else if (option == "--seconds" && i + 1 < argc) {
        seconds_ = std::atof(argv[++i]);
      } else if (option == "--data" && i + 1 < argc) {
        data = argv[++i];
      } else {
        throw std::runtime_error("usage: PROGRAM [--fixed] [--seconds S] [--data FOLDER]");
      }
    }
  }
  void count(std::int64_t samples) {  // ends a step
    if (++steps_ == 0) {
      first_end_ = Clock::now();
    } else {
      samples_ += samples;
    }
  }
  [[nodiscard]] bool is_over() const { return steps_ >= 0 && elapsed_s() >= seconds_; }
  void print_result() const {
    std::printf("{\"samples\": %lld, \"seconds\": %.3f, \"steps\": %lld}\n", static_cast<long long>(samples_),
                elapsed_s(), static_cast<long long>(steps_));
  }

  bool fixed = false;
  std::string data = ".";

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] double elapsed_s() const { return std::chrono::duration<double>(Clock::now() - first_end_).count(); }

  double seconds_ = 12;
  std::int64_t samples_ = 0, steps_ = -1;
  Clock::time_point first_end_ = Clock::now();
};

// Multinomial logistic regression on the means of an image's 16 x 16 parts.
class Classifier {
 public:
  static constexpr int kClasses = 256, kParts = 16, kFeatures = 3 * kParts * kParts;

  // Features of an RGB image of `width` x `height` pixels, at least 16 each.
  static std::vector<float> features_of(const std::uint8_t* pixels, int width, int height) {
    std::vector<float> features(kFeatures);
    const int part_width = width / kParts, part_height = height / kParts;
    for (int y = 0; y < part_height * kParts; ++y) {
      for (int x = 0; x < part_width * kParts; ++x) {
        const int part = y / part_height * kParts + x / part_width;
        for (int channel = 0; channel < 3; ++channel)
          features[static_cast<std::size_t>(3 * part + channel)] += pixels[3 * (y * width + x) + channel];
      }
    }
    for (float& feature : features) feature /= 255.0F * static_cast<float>(part_width * part_height);
    return features;
  }
  void train(const std::vector<float>& features, int label) {
    std::vector<float> scores(kClasses);
    float sum = 0;
    for (int c = 0; c < kClasses; ++c) {
      float score = 0;
      for (int f = 0; f < kFeatures; ++f) score += weights_[index(c, f)] * features[static_cast<std::size_t>(f)];
      sum += scores[static_cast<std::size_t>(c)] = std::exp(score);
    }
    for (int c = 0; c < kClasses; ++c) {
      const float gradient = scores[static_cast<std::size_t>(c)] / sum - (c == label ? 1.0F : 0.0F);
      for (int f = 0; f < kFeatures; ++f)
        weights_[index(c, f)] -= 0.001F * gradient * features[static_cast<std::size_t>(f)];
    }
  }

 private:
  static std::size_t index(int c, int f) { return static_cast<std::size_t>(c * kFeatures + f); }
  std::vector<float> weights_ = std::vector<float>(kClasses * kFeatures);
};
