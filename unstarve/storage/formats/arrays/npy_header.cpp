#include "unstarve/storage/formats/arrays/npy_header.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/formats/arrays/product.h"

namespace unstarve {
namespace {

[[noreturn]] void refuse_npy(const std::string& what) { throw Error(ErrorKind::kInput, what); }

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
    if (!take(c)) refuse_npy(std::string("the header is not a NumPy dict: expected '") + c + "'");
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
    if (end == std::string_view::npos) refuse_npy("the header is not a NumPy dict: expected a quoted string");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  // Saturates below 2^63, which no file length reaches.
  std::uint64_t number() {
    skip_blanks();
    if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9')
      refuse_npy("the shape is not a tuple of non-negative integers");
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

void parse_type(std::string_view descr, NpyHeader& header) {
  const std::string shown(descr.substr(0, 32));
  if (descr.size() != 3 || (descr[0] != '<' && descr[0] != '>' && descr[0] != '|') ||
      (descr[1] != 'u' && descr[1] != 'i') || std::string_view("1248").find(descr[2]) == std::string_view::npos) {
    refuse_npy("element type '" + shown + "'; expected integers ('|u1', '<i8', ...)");
  }
  header.big_endian = descr[0] == '>';
  header.is_signed = descr[1] == 'i';
  header.element_bytes = static_cast<std::size_t>(descr[2] - '0');
}

void parse_shape(DictText& text, NpyHeader& header) {
  text.expect('(');
  while (!text.take(')')) {
    if (header.shape.size() == kMaxNpyDimensions) refuse_npy("more than 8 dimensions");
    header.shape.push_back(text.number());
    if (!text.take(',')) {
      text.expect(')');
      break;
    }
  }
}

void parse_dict(std::string_view dict, NpyHeader& header) {
  DictText text(dict);
  bool descr = false, order = false, shape = false;
  text.expect('{');
  while (!text.take('}')) {
    const std::string_view key = text.quoted();
    text.expect(':');
    if (key == "descr" && !descr) {
      // A structured type is a list.
      if (text.take('[')) refuse_npy("the elements are structures; expected integers");
      parse_type(text.quoted(), header);
      descr = true;
    } else if (key == "fortran_order" && !order) {
      if (text.take_word("True")) refuse_npy("the array is in Fortran order. Save numpy.ascontiguousarray(array).");
      if (!text.take_word("False")) refuse_npy("fortran_order is neither True nor False");
      order = true;
    } else if (key == "shape" && !shape) {
      parse_shape(text, header);
      shape = true;
    } else {
      refuse_npy("unknown or repeated key '" + std::string(key.substr(0, 32)) + "' in the header");
    }
    if (!text.take(',')) {
      text.expect('}');
      break;
    }
  }
  if (!descr || !order || !shape || !text.done()) refuse_npy("header: expected a dict of descr, fortran_order and shape");
}

}  // namespace

NpyHeader read_npy_header(std::span<const std::uint8_t> head) {
  if (!is_npy(head)) refuse_npy("not an .npy file: it does not begin with \\x93NUMPY");
  if (head.size() < 12) refuse_npy("truncated: the file ends inside its header");
  const int version = head[6];
  if (version < 1 || version > 3) refuse_npy("format version " + std::to_string(version) + "; expected 1 to 3");
  const std::size_t text_at = version == 1 ? 10 : 12;
  const std::size_t text_bytes =
      version == 1 ? load_little<std::uint16_t>(head.data() + 8) : load_little<std::uint32_t>(head.data() + 8);
  if (text_bytes > kMaxNpyHeaderBytes - text_at || text_bytes > head.size() - text_at) {
    refuse_npy("a header of " + std::to_string(text_bytes) + " bytes: longer than the file or than " +
           std::to_string(kMaxNpyHeaderBytes));
  }
  NpyHeader header;
  header.header_bytes = text_at + text_bytes;
  parse_dict({reinterpret_cast<const char*>(head.data()) + text_at, text_bytes}, header);
  header.data_bytes = header.element_bytes;
  for (const std::uint64_t length : header.shape) {
    if (length == 0) refuse_npy("the array is empty: a length in its shape is 0");
    header.data_bytes = product(header.data_bytes, length);
  }
  return header;
}

NpyHeader parse_npy_header(std::span<const std::uint8_t> head, std::uint64_t file_bytes) {
  NpyHeader header = read_npy_header(head);
  const std::uint64_t available = file_bytes - header.header_bytes;
  if (header.data_bytes != available) {
    refuse_npy((header.data_bytes > available ? "truncated: the header declares " : "the header declares ") +
           std::to_string(header.data_bytes) + " bytes of elements, the file contains " + std::to_string(available));
  }
  return header;
}

}  // namespace unstarve
