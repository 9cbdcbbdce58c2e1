#pragma once
// For tests: a new temporary folder, removed with its contents, and helpers to write files to it.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace unstarve::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "unstarve-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string str(std::string_view below = "") const {
    return below.empty() ? path_.string() : (path_ / below).string();
  }
  // Writes `below` and creates its folders.
  void write(std::string_view below, std::string_view contents) const {
    const std::filesystem::path file = path_ / below;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
  }
  void write(std::string_view below, std::span<const std::uint8_t> contents) const {
    write(below, std::string_view(reinterpret_cast<const char*>(contents.data()), contents.size()));
  }
  void folder(std::string_view below) const { std::filesystem::create_directories(path_ / below); }

 private:
  std::filesystem::path path_;
};

}  // namespace unstarve::testing
