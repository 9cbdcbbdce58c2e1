#pragma once
// For tests: builds tar archives of every dialect; any field can be wrong.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace unstarve::testing {

class TarText {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;
  static constexpr std::uint64_t kRightSize = ~std::uint64_t{0};  // the size of the body

  TarText& file(const std::string& name, const std::string& body, char type = '0', std::uint64_t size = kRightSize) {
    return add(block(name, type, size == kRightSize ? body.size() : size), body);
  }
  TarText& posix(const std::string& prefix, const std::string& name, const std::string& body) {
    Block header = block(name, '0', body.size());
    std::memcpy(header.data() + 345, prefix.data(), prefix.size());
    return add(header, body);
  }
  TarText& gnu(const std::string& at_prefix, const std::string& name, const std::string& body) {
    Block header = block(name, '0', body.size());
    std::memcpy(header.data() + 257, "ustar  ", 8);
    std::memcpy(header.data() + 345, at_prefix.data(), at_prefix.size());
    return add(header, body);
  }
  TarText& v7(const std::string& name, const std::string& body) {
    Block header = block(name, '\0', body.size());
    std::memset(header.data() + 257, 0, 8);
    return add(header, body);
  }
  TarText& binary_size(const std::string& name, const std::string& body) {
    Block header = block(name, '0', 0);
    std::memset(header.data() + 124, 0, 12);
    header[124] = static_cast<char>(0x80);
    for (int i = 0; i < 8; ++i) header[135 - i] = static_cast<char>(body.size() >> 8 * i);
    return add(header, body);
  }
  // Old GNU sparse member with two map blocks after the header.
  TarText& sparse_with_map(const std::string& name, const std::string& body) {
    Block header = block(name, 'S', body.size());
    header[482] = 1;
    seal(header);
    text_.append(header.data(), header.size());
    Block map{};
    map[504] = 1;
    text_.append(map.data(), map.size());
    map[504] = 0;
    text_.append(map.data(), map.size());
    return fill(body);
  }
  TarText& raw(char type, const std::string& body) { return file("extended", body, type); }
  TarText& long_name(const std::string& name) { return file("././@LongLink", name + '\0', 'L'); }
  TarText& pax(const Fields& fields) { return raw('x', pax_body(fields)); }
  TarText& global(const Fields& fields) { return raw('g', pax_body(fields)); }

  [[nodiscard]] const std::string& text() const { return text_; }
  // With the closing zero blocks.
  [[nodiscard]] std::string end() const { return text_ + std::string(1024, '\0'); }

 private:
  using Block = std::array<char, 512>;

  static Block block(const std::string& name, char type, std::uint64_t size) {
    Block header{};
    std::memcpy(header.data(), name.data(), name.size() < 100 ? name.size() : 100);
    std::memcpy(header.data() + 100, "0000644", 7);
    std::snprintf(header.data() + 124, 13, "%012llo", static_cast<unsigned long long>(size));
    std::memcpy(header.data() + 136, "00000000000", 11);
    header[156] = type;
    std::memcpy(header.data() + 257,
                "ustar\0"
                "00",
                8);
    return header;
  }
  static void seal(Block& header) {
    std::memset(header.data() + 148, ' ', 8);
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    std::snprintf(header.data() + 148, 8, "%06o", sum);
  }
  TarText& add(Block header, const std::string& body) {
    seal(header);
    text_.append(header.data(), header.size());
    return fill(body);
  }
  TarText& fill(const std::string& body) {
    text_ += body;
    text_.append((512 - body.size() % 512) % 512, '\0');
    return *this;
  }
  static std::string pax_body(const Fields& fields) {
    std::string body;
    for (const auto& [key, value] : fields) {
      const std::string rest = " " + key + "=" + value + "\n";
      std::size_t length = rest.size() + 1;
      while (std::to_string(length).size() + rest.size() != length) ++length;
      body += std::to_string(length) + rest;
    }
    return body;
  }

  std::string text_;
};

}  // namespace unstarve::testing
