#include "unstarve/storage/formats/webdataset/webdataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/record_writer.h"
#include "unstarve/storage/formats/webdataset/tar_header.h"
#include "unstarve/storage/source/folder_scan.h"

namespace unstarve {
namespace {

constexpr std::size_t kUstarNameBytes = 100;
constexpr std::size_t kUstarPrefixBytes = 155;
constexpr std::uint64_t kMaxUstarBytes = (std::uint64_t{1} << 33) - 1;  // eleven octal digits

using Block = std::array<char, kTarBlockBytes>;

// Splits "a/b/c" into prefix "a/b" and name "c"; returns false if the path does not fit.
bool split_name(std::string_view path, std::string_view& prefix, std::string_view& name) {
  prefix = {};
  name = path;
  if (path.size() <= kUstarNameBytes) return true;
  const std::size_t slash = path.rfind('/', kUstarPrefixBytes);
  if (slash == std::string_view::npos || slash == 0) return false;
  prefix = path.substr(0, slash);
  name = path.substr(slash + 1);
  return name.size() <= kUstarNameBytes;
}

void put_octal(Block& block, std::size_t at, std::size_t digits, std::uint64_t value) {
  const std::string text = fmt::format("{:0{}o}", value, digits);
  std::memcpy(block.data() + at, text.data(), digits);
}

Block header_of(std::string_view prefix, std::string_view name, char type, std::uint64_t bytes) {
  Block block{};
  std::copy(name.begin(), name.end(), block.begin());
  put_octal(block, 100, 7, 0644);  // mode
  put_octal(block, 108, 7, 0);     // user
  put_octal(block, 116, 7, 0);     // group
  put_octal(block, 124, 11, bytes);
  put_octal(block, 136, 11, 0);  // time
  block[156] = type;
  std::memcpy(block.data() + 257,
              "ustar\0"
              "00",
              8);
  std::copy(prefix.begin(), prefix.end(), block.begin() + 345);
  std::memset(block.data() + 148, ' ', 8);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put_octal(block, 148, 6, sum);
  block[154] = '\0';
  return block;
}

// "30 path=...\n": the length counts its own digits.
std::string pax_path(std::string_view path) {
  const std::string rest = " path=" + std::string(path) + "\n";
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

class WebdatasetWriter final : public RecordWriter {
 public:
  explicit WebdatasetWriter(ByteSink& sink) : sink_(sink) {}

  void append(const OutRecord& record) override {
    const std::string name = unique_name(webdataset_name(record.key));
    if (record.image.size() > kMaxUstarBytes) {
      throw input_error("write tar: {} has {} bytes; expected at most {}", record.key, record.image.size(),
                        kMaxUstarBytes);
    }
    member(name + (record.encoding == "jpeg" ? ".jpg" : "." + std::string(record.encoding)), record.image);
    if (record.label < 0) return;
    const std::string label = std::to_string(record.label);
    member(name + ".cls", as_bytes(label));
  }

  void finish() override { sink_.write(std::string(2 * kTarBlockBytes, '\0')); }

 private:
  std::string unique_name(std::string name) {
    const unsigned before = used_[name]++;
    if (before == 0) return name;
    std::string other;
    for (unsigned number = before + 1; other.empty() || used_.contains(other); ++number) {
      other = fmt::format("{}_{}", name, number);
    }
    used_.emplace(other, 1);
    return other;
  }

  void member(const std::string& path, std::span<const std::uint8_t> body) {
    std::string_view prefix, name;
    if (!split_name(path, prefix, name)) {
      const std::string extended = pax_path(path);
      header_and_body(header_of("", "pax_header", 'x', extended.size()), as_bytes(extended));
      prefix = {};
      name = std::string_view(path).substr(0, kUstarNameBytes);
    }
    header_and_body(header_of(prefix, name, '0', body.size()), body);
  }

  void header_and_body(const Block& header, std::span<const std::uint8_t> body) {
    static constexpr Block kZeros{};
    sink_.write(std::string_view(header.data(), header.size()));
    sink_.write(body);
    sink_.write(std::string_view(kZeros.data(), (kTarBlockBytes - body.size() % kTarBlockBytes) % kTarBlockBytes));
  }

  ByteSink& sink_;
  std::unordered_map<std::string, unsigned> used_;
};

}  // namespace

std::string webdataset_name(std::string_view key) {
  const std::size_t last_slash = key.rfind('/');
  std::size_t base = last_slash == std::string_view::npos ? 0 : last_slash + 1;
  const std::size_t dot = key.rfind('.');
  if (dot != std::string_view::npos && dot > base && has_image_extension(key)) key = key.substr(0, dot);
  std::string name;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    std::string part(key.substr(begin, end - begin));
    for (char& c : part) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '_';
      if (begin >= base && c == '.') c = '_';
    }
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") part = "__";
    name += (name.empty() ? "" : "/") + part;
  }
  // Readers skip "__name__" and everything below it.
  if (name.empty() || name.starts_with("__")) name = "x" + name;
  return name;
}

std::unique_ptr<RecordWriter> make_webdataset_writer(ByteSink& sink, const std::vector<std::string>&) {
  return std::make_unique<WebdatasetWriter>(sink);
}

}  // namespace unstarve
