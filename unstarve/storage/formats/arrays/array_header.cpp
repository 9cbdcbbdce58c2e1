#include "unstarve/storage/formats/arrays/array_header.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/source/first_bytes.h"

namespace unstarve {
namespace {

// Saturates at 2^64 - 1.
std::uint64_t product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::uint64_t>::max() : result;
}

// Parses the subset of Python syntax that NumPy headers use.
class DictText {
 public:
  explicit DictText(std::string_view text) : rest_(text) {}

  // Consumes `c` if it is next after blanks; returns whether it was.
  bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) throw input_error("the header is not a NumPy dict: expected '{}'", c);
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string_view quoted() {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) throw input_error("the header is not a NumPy dict: expected a quoted string");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  // Saturates below 2^63, which no file length reaches.
  std::uint64_t number() {
    skip_blanks();
    if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9')
      throw input_error("the shape is not a tuple of non-negative integers");
    std::uint64_t value = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value =
          std::min<std::uint64_t>(value, std::uint64_t{1} << 59) * 10 + static_cast<std::uint64_t>(rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    take_word("L");  // suffix of long integers in Python 2
    return value;
  }
  bool done() {
    skip_blanks();
    return rest_.empty();
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

void parse_type(std::string_view descr, ArrayHeader& header) {
  const std::string shown(descr.substr(0, 32));
  if (descr.size() != 3 || (descr[0] != '<' && descr[0] != '>' && descr[0] != '|') ||
      (descr[1] != 'u' && descr[1] != 'i') || std::string_view("1248").find(descr[2]) == std::string_view::npos) {
    throw input_error("element type '{}'; expected integers ('|u1', '<i8', ...)", shown);
  }
  header.big_endian = descr[0] == '>';
  header.is_signed = descr[1] == 'i';
  header.element_bytes = static_cast<std::size_t>(descr[2] - '0');
}

void parse_shape(DictText& text, ArrayHeader& header) {
  text.expect('(');
  while (!text.take(')')) {
    if (header.shape.size() == kMaxNpyDimensions) throw input_error("more than 8 dimensions");
    header.shape.push_back(text.number());
    if (!text.take(',')) {
      text.expect(')');
      break;
    }
  }
}

void parse_dict(std::string_view dict, ArrayHeader& header) {
  DictText text(dict);
  bool descr = false, order = false, shape = false;
  text.expect('{');
  while (!text.take('}')) {
    const std::string_view key = text.quoted();
    text.expect(':');
    if (key == "descr" && !descr) {
      // A structured type is a list.
      if (text.take('[')) throw input_error("the elements are structures; expected integers");
      parse_type(text.quoted(), header);
      descr = true;
    } else if (key == "fortran_order" && !order) {
      if (text.take_word("True"))
        throw input_error("the array is in Fortran order. Save numpy.ascontiguousarray(array).");
      if (!text.take_word("False")) throw input_error("fortran_order is neither True nor False");
      order = true;
    } else if (key == "shape" && !shape) {
      parse_shape(text, header);
      shape = true;
    } else {
      throw input_error("unknown or repeated key '{}' in the header", key.substr(0, 32));
    }
    if (!text.take(',')) {
      text.expect('}');
      break;
    }
  }
  if (!descr || !order || !shape || !text.done())
    throw input_error("header: expected a dict of descr, fortran_order and shape");
}

struct ElementType {
  std::uint8_t code;
  std::size_t bytes;
  bool is_signed;
};

constexpr ElementType kTypes[] = {{0x08, 1, false}, {0x09, 1, true}, {0x0B, 2, true}, {0x0C, 4, true}};

const ElementType* find_type(std::uint8_t code) noexcept {
  for (const ElementType& type : kTypes) {
    if (type.code == code) return &type;
  }
  return nullptr;
}

std::uint64_t load_big_u32(const std::uint8_t* bytes) noexcept {
  std::uint64_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

ArrayHeader read_npy_header(std::span<const std::uint8_t> head) {
  if (!is_npy(head)) throw input_error("not an .npy file: it does not begin with \\x93NUMPY");
  if (head.size() < 12) throw input_error("truncated: the file ends inside its header");
  const int version = head[6];
  if (version < 1 || version > 3) throw input_error("format version {}; expected 1 to 3", version);
  const std::size_t text_at = version == 1 ? 10 : 12;
  const std::size_t text_bytes =
      version == 1 ? load_little<std::uint16_t>(head.data() + 8) : load_little<std::uint32_t>(head.data() + 8);
  if (text_bytes > kMaxNpyHeaderBytes - text_at || text_bytes > head.size() - text_at) {
    throw input_error("a header of {} bytes: longer than the file or than {}", text_bytes, kMaxNpyHeaderBytes);
  }
  ArrayHeader header;
  header.header_bytes = text_at + text_bytes;
  parse_dict({reinterpret_cast<const char*>(head.data()) + text_at, text_bytes}, header);
  header.data_bytes = header.element_bytes;
  for (const std::uint64_t length : header.shape) {
    if (length == 0) throw input_error("the array is empty: a length in its shape is 0");
    header.data_bytes = product(header.data_bytes, length);
  }
  return header;
}

ArrayHeader read_idx_header(std::span<const std::uint8_t> head) {
  if (head.size() < 4 || head[0] != 0 || head[1] != 0)
    throw input_error("not an idx file: expected two zero bytes at the start");
  const ElementType* const type = find_type(head[2]);
  if (type == nullptr) throw input_error("element type {}; expected 8, 9, 11 or 12 (integers)", head[2]);
  const int dimensions = head[3];
  if (dimensions < 1 || dimensions > kMaxIdxDimensions) {
    throw input_error("{} dimensions; expected 1 to {}", dimensions, kMaxIdxDimensions);
  }
  ArrayHeader header;
  header.element_bytes = type->bytes;
  header.is_signed = type->is_signed;
  header.big_endian = true;
  header.header_bytes = 4 + 4 * static_cast<std::size_t>(dimensions);
  if (head.size() < header.header_bytes) throw input_error("truncated: the file ends inside its header");
  header.data_bytes = type->bytes;
  for (int i = 0; i < dimensions; ++i) {
    header.shape.push_back(load_big_u32(head.data() + 4 + 4 * i));
    if (header.shape.back() == 0) throw input_error("dimension {} is 0; expected at least 1", i);
    header.data_bytes = product(header.data_bytes, header.shape.back());
  }
  return header;
}

void check_length(const ArrayHeader& header, std::uint64_t file_bytes) {
  const std::uint64_t available = file_bytes - header.header_bytes;
  if (header.data_bytes == available) return;
  throw input_error("{}{} bytes of elements, the file contains {}",
                    header.data_bytes > available ? "truncated: the header declares " : "the header declares ",
                    header.data_bytes, available);
}

}  // namespace unstarve
