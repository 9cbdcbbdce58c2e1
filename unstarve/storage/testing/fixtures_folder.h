#pragma once
// For tests: files written by the formats' own libraries (tests/fixtures/formats/make.py), each with the same five
// samples.

#include <array>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "unstarve/core/file.h"

namespace unstarve::testing {

inline constexpr std::array<std::int64_t, 5> kFixtureLabels = {2, 0, 1, 2, 1};
inline constexpr std::array<const char*, 3> kFixtureNames = {"zero", "one", "two"};

// The path of a file or folder below tests/fixtures/formats.
inline std::filesystem::path fixture(const std::string& below) {
  const std::filesystem::path here(__FILE__);
  const std::filesystem::path root =
      here.is_absolute() ? here.parent_path() / "../../.." : std::filesystem::current_path();
  const std::filesystem::path path = root / "tests/fixtures/formats" / below;
  if (!std::filesystem::exists(path)) throw std::runtime_error("no fixture " + path.string());
  return path;
}

inline std::string fixture_bytes(const std::string& below) { return read_text_file(fixture(below)); }

inline std::string fixture_image(std::size_t i) { return fixture_bytes("images/" + std::to_string(i) + ".jpg"); }

}  // namespace unstarve::testing
