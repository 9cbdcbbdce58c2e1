#pragma once
// For tests: tar archives of every dialect, written by hand so that each field can be wrong.

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
  static constexpr std::uint64_t kTrue = ~std::uint64_t{0};  // the size that the body has

  TarText& file(const std::string& name, const std::string& body, char type = '0', std::uint64_t size = kTrue) {
    return add(block(name, type, size == kTrue ? body.size() : size), body);
  }
  TarText& posix(const std::string& prefix, const std::string& name, const std::string& body) {
    Block made = block(name, '0', body.size());
    std::memcpy(made.data() + 345, prefix.data(), prefix.size());
    return add(made, body);
  }
  TarText& gnu(const std::string& at_prefix, const std::string& name, const std::string& body) {
    Block made = block(name, '0', body.size());
    std::memcpy(made.data() + 257, "ustar  ", 8);
    std::memcpy(made.data() + 345, at_prefix.data(), at_prefix.size());
    return add(made, body);
  }
  TarText& v7(const std::string& name, const std::string& body) {
    Block made = block(name, '\0', body.size());
    std::memset(made.data() + 257, 0, 8);
    return add(made, body);
  }
  TarText& binary_size(const std::string& name, const std::string& body) {
    Block made = block(name, '0', 0);
    std::memset(made.data() + 124, 0, 12);
    made[124] = static_cast<char>(0x80);
    for (int i = 0; i < 8; ++i) made[135 - i] = static_cast<char>(body.size() >> 8 * i);
    return add(made, body);
  }
  // Old GNU sparse with two blocks of map behind the header.
  TarText& sparse_with_map(const std::string& name, const std::string& body) {
    Block made = block(name, 'S', body.size());
    made[482] = 1;
    seal(made);
    text_.append(made.data(), made.size());
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
    Block made{};
    std::memcpy(made.data(), name.data(), name.size() < 100 ? name.size() : 100);
    std::memcpy(made.data() + 100, "0000644", 7);
    std::snprintf(made.data() + 124, 13, "%012llo", static_cast<unsigned long long>(size));
    std::memcpy(made.data() + 136, "00000000000", 11);
    made[156] = type;
    std::memcpy(made.data() + 257,
                "ustar\0"
                "00",
                8);
    return made;
  }
  static void seal(Block& made) {
    std::memset(made.data() + 148, ' ', 8);
    unsigned sum = 0;
    for (const char c : made) sum += static_cast<unsigned char>(c);
    std::snprintf(made.data() + 148, 8, "%06o", sum);
  }
  TarText& add(Block made, const std::string& body) {
    seal(made);
    text_.append(made.data(), made.size());
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
