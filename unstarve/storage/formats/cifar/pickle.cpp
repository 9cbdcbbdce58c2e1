#include "unstarve/storage/formats/cifar/pickle.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {

// The stack machine of pickle; Lib/pickletools.py of CPython documents the opcodes.
class PickleReader {
 public:
  PickleReader(std::span<const std::uint8_t> bytes, Pickle& pickle) : bytes_(bytes), pickle_(pickle) {}
  void run();

 private:
  using Kind = PickleValue::Kind;
  using Items = std::vector<std::uint32_t>;

  [[noreturn]] void fail(const std::string& what) const {
    throw input_error("pickle: {} at offset {}", what, opcode_at_);
  }
  [[nodiscard]] std::span<const std::uint8_t> take(std::uint64_t count);
  template <class Number>
  [[nodiscard]] Number number() {
    return load_little<Number>(take(sizeof(Number)).data());
  }
  [[nodiscard]] std::string_view line();

  PickleValue& push(Kind kind);
  [[nodiscard]] std::uint32_t pop();
  [[nodiscard]] Items pop_to_mark();
  [[nodiscard]] PickleValue& value(std::uint32_t index) { return pickle_.values_[index]; }
  [[nodiscard]] PickleValue& top(Kind kind);
  [[nodiscard]] const PickleValue& item(const Items& items, std::size_t index, Kind kind);
  [[nodiscard]] std::vector<std::uint64_t> shape_of(const PickleValue& tuple);

  bool step(std::uint8_t opcode);
  bool push_constant(std::uint8_t opcode);
  bool use_memo(std::uint8_t opcode);
  bool push_container(std::uint8_t opcode);
  void push_global(std::string module, std::string_view name) {
    push(Kind::kGlobal).name = std::move(module.append(".").append(name));
  }
  void append(Kind kind, const Items& items);
  void reduce();
  void push_decoded(std::string_view text);
  void build();

  std::span<const std::uint8_t> bytes_;
  Pickle& pickle_;
  std::size_t offset_ = 0, opcode_at_ = 0;
  std::uint64_t decoded_bytes_ = 0;
  Items stack_;
  std::vector<std::size_t> marks_;  // sizes of stack_
  std::unordered_map<std::uint32_t, std::uint32_t> memo_;
};

std::span<const std::uint8_t> PickleReader::take(std::uint64_t count) {
  if (count > bytes_.size() - offset_) fail("truncated");
  const auto taken = bytes_.subspan(offset_, static_cast<std::size_t>(count));
  offset_ += taken.size();
  return taken;
}

// The text up to a newline.
std::string_view PickleReader::line() {
  const std::string_view rest = as_text(bytes_.subspan(offset_));
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) fail("truncated");
  offset_ += end + 1;
  return rest.substr(0, end);
}

PickleValue& PickleReader::push(Kind kind) {
  if (pickle_.values_.size() >= kMaxPickleValues) fail(fmt::format("more than {} values", kMaxPickleValues));
  stack_.push_back(static_cast<std::uint32_t>(pickle_.values_.size()));
  pickle_.values_.emplace_back().kind = kind;
  return pickle_.values_.back();
}

std::uint32_t PickleReader::pop() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("an operand is missing");
  const std::uint32_t index = stack_.back();
  stack_.pop_back();
  return index;
}

PickleReader::Items PickleReader::pop_to_mark() {
  if (marks_.empty()) fail("a mark is missing");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  Items items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}

// The value on top of the stack. Throws unless it is of that kind.
PickleValue& PickleReader::top(Kind kind) {
  const std::uint32_t index = pop();
  stack_.push_back(index);
  if (value(index).kind != kind) fail("an operand of an unexpected type");
  return value(index);
}

// Throws unless the item exists and is of that kind.
const PickleValue& PickleReader::item(const Items& items, std::size_t index, Kind kind) {
  if (index >= items.size() || value(items[index]).kind != kind) fail("an argument of an unexpected type");
  return value(items[index]);
}

std::vector<std::uint64_t> PickleReader::shape_of(const PickleValue& tuple) {
  std::vector<std::uint64_t> shape;
  for (std::size_t i = 0; i < tuple.items.size(); ++i) {
    const std::int64_t length = item(tuple.items, i, Kind::kInteger).integer;
    if (length < 0) fail("an array of negative length");
    shape.push_back(static_cast<std::uint64_t>(length));
  }
  return shape;
}

void PickleReader::run() {
  if (bytes_.size() < 2 || bytes_[0] != 0x80 || bytes_[1] < 2 || bytes_[1] > 5) fail("not a pickle of protocol 2 to 5");
  offset_ = 2;
  do opcode_at_ = offset_;
  while (step(number<std::uint8_t>()));
}

// Returns false after the last opcode.
bool PickleReader::step(std::uint8_t opcode) {
  if (push_constant(opcode) || use_memo(opcode) || push_container(opcode)) return true;
  switch (opcode) {
    case '.': pickle_.root_ = pop(); return false;
    case 0x95: (void)number<std::uint64_t>(); return true;  // FRAME
    case 'c': {
      const std::string module(line());
      push_global(module, line());
      return true;
    }
    case 0x93: {  // STACK_GLOBAL
      const Items names{pop(), pop()};
      push_global(std::string(as_text(item(names, 1, Kind::kText).bytes)), as_text(item(names, 0, Kind::kText).bytes));
      return true;
    }
    case 'R': reduce(); return true;
    case 'b': build(); return true;
    default: fail(fmt::format("opcode {}, which pickles of plain data do not contain", opcode));
  }
}

bool PickleReader::push_constant(std::uint8_t opcode) {
  const auto push_integer = [&](std::int64_t integer) { push(Kind::kInteger).integer = integer; };
  const auto push_text = [&](std::uint64_t length) {
    const std::span<const std::uint8_t> text = take(length);
    push(Kind::kText).bytes = text;
  };
  switch (opcode) {
    case 'N': push(Kind::kNone); break;
    case 0x88: push_integer(1); break;
    case 0x89: push_integer(0); break;
    case 'J': push_integer(number<std::int32_t>()); break;
    case 'K': push_integer(number<std::uint8_t>()); break;
    case 'M': push_integer(number<std::uint16_t>()); break;
    case 0x8a: {  // LONG1
      const std::span<const std::uint8_t> digits = take(number<std::uint8_t>());
      if (digits.size() > 8) fail(fmt::format("an integer of {} bytes", digits.size()));
      std::uint64_t integer = !digits.empty() && digits.back() >= 128 ? ~std::uint64_t{0} : 0;
      for (std::size_t i = digits.size(); i-- > 0;) integer = integer << 8 | digits[i];
      push_integer(static_cast<std::int64_t>(integer));
      break;
    }
    case 'C':  // bytes
    case 'U':  // str of Python 2
    case 0x8c: push_text(number<std::uint8_t>()); break;
    case 'B':
    case 'T':
    case 'X': push_text(number<std::uint32_t>()); break;
    case 0x8d:
    case 0x8e:
    case 0x96: push_text(number<std::uint64_t>()); break;
    default: return false;
  }
  return true;
}

bool PickleReader::use_memo(std::uint8_t opcode) {
  const auto put = [&](std::uint32_t key) {
    if (stack_.empty()) fail("an operand is missing");
    memo_[key] = stack_.back();
  };
  const auto get = [&](std::uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail("an unknown reference");
    stack_.push_back(found->second);
  };
  switch (opcode) {
    case 'q': put(number<std::uint8_t>()); break;
    case 'r': put(number<std::uint32_t>()); break;
    case 0x94: put(static_cast<std::uint32_t>(memo_.size())); break;
    case 'h': get(number<std::uint8_t>()); break;
    case 'j': get(number<std::uint32_t>()); break;
    default: return false;
  }
  return true;
}

bool PickleReader::push_container(std::uint8_t opcode) {
  switch (opcode) {
    case '(': marks_.push_back(stack_.size()); return true;
    case '}': push(Kind::kDict); return true;
    case ']': push(Kind::kList); return true;
    case ')': push(Kind::kTuple); return true;
    case 't':
    case 0x85:
    case 0x86:
    case 0x87: {
      Items items;
      if (opcode == 't') items = pop_to_mark();
      for (int i = 0; opcode != 't' && i < opcode - 0x84; ++i) items.insert(items.begin(), pop());
      push(Kind::kTuple).items = std::move(items);
      return true;
    }
    case 'a': append(Kind::kList, {pop()}); return true;
    case 'e': append(Kind::kList, pop_to_mark()); return true;
    case 's': {
      const std::uint32_t held = pop();
      append(Kind::kDict, {pop(), held});
      return true;
    }
    case 'u': append(Kind::kDict, pop_to_mark()); return true;
    default: return false;
  }
}

void PickleReader::append(Kind kind, const Items& items) {
  if (kind == Kind::kDict && items.size() % 2 != 0) fail("a key without a value");
  Items& into = top(kind).items;
  into.insert(into.end(), items.begin(), items.end());
}

// Replaces a global and its arguments by the value that the call of the global would return.
void PickleReader::reduce() {
  const Items arguments = top(Kind::kTuple).items;
  (void)pop();
  const std::string name = top(Kind::kGlobal).name;
  (void)pop();
  const auto is = [&](std::string_view function) {
    return name == "numpy.core." + std::string(function) || name == "numpy._core." + std::string(function);
  };
  if (is("multiarray._reconstruct")) {
    if (item(arguments, 0, Kind::kGlobal).name != "numpy.ndarray") fail("an array of another type than numpy.ndarray");
    push(Kind::kArray);
  } else if (is("numeric._frombuffer")) {
    PickleValue array{.kind = Kind::kArray};
    array.bytes = item(arguments, 0, Kind::kText).bytes;
    array.name = item(arguments, 1, Kind::kDtype).name;
    array.shape = shape_of(item(arguments, 2, Kind::kTuple));
    array.column_major = as_text(item(arguments, 3, Kind::kText).bytes) != "C";
    push(Kind::kArray) = std::move(array);
  } else if (name == "numpy.dtype") {
    const std::string type(as_text(item(arguments, 0, Kind::kText).bytes));
    push(Kind::kDtype).name = type;
  } else if (name == "_codecs.encode" && arguments.size() == 2 &&
             as_text(item(arguments, 1, Kind::kText).bytes) == "latin1") {
    push_decoded(as_text(item(arguments, 0, Kind::kText).bytes));
  } else {
    fail("a reference to the Python function " + name + ", which is not called; expected plain data");
  }
}

// Pushes the bytes that protocol 2 stores as UTF-8 of code points below 256.
void PickleReader::push_decoded(std::string_view text) {
  // A pickle may refer to one text many times.
  decoded_bytes_ += text.size();
  if (decoded_bytes_ > bytes_.size()) fail("more bytes than the pickle holds");
  std::vector<std::uint8_t>& bytes = pickle_.decoded_.emplace_back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<std::uint8_t>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<std::uint8_t>(text[i + 1]) : std::uint8_t{0};
    const bool pair = (first == 0xc2 || first == 0xc3) && next >> 6 == 2;
    if (first >= 0x80 && !pair) fail("bytes that are not Latin-1 text");
    bytes.push_back(pair ? static_cast<std::uint8_t>(first << 6 | (next & 0x3f)) : first);
    if (pair) ++i;
  }
  push(Kind::kText).bytes = bytes;
}

// Sets the state of an array or dtype.
void PickleReader::build() {
  const Items state = top(Kind::kTuple).items;
  (void)pop();
  const std::uint32_t index = pop();
  stack_.push_back(index);
  if (value(index).kind == Kind::kArray) {  // (version, shape, dtype, whether column-major, bytes)
    PickleValue array{.kind = Kind::kArray};
    array.shape = shape_of(item(state, 1, Kind::kTuple));
    array.name = item(state, 2, Kind::kDtype).name;
    array.column_major = item(state, 3, Kind::kInteger).integer != 0;
    array.bytes = item(state, 4, Kind::kText).bytes;
    value(index) = std::move(array);
  } else if (value(index).kind == Kind::kDtype) {  // (version, byte order, ...)
    const std::string_view order = as_text(item(state, 1, Kind::kText).bytes);
    std::string& name = value(index).name;
    if (!name.empty() && std::string_view("<>|=").find(name[0]) != std::string_view::npos) name.erase(0, 1);
    name.insert(0, order);
  } else {
    fail("a state for a value that has none");
  }
}

Pickle::Pickle(std::span<const std::uint8_t> bytes) { PickleReader(bytes, *this).run(); }

const PickleValue* Pickle::find(std::string_view key) const noexcept {
  if (root().kind != PickleValue::Kind::kDict) return nullptr;
  const std::vector<std::uint32_t>& items = root().items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const PickleValue& name = at(items[i]);
    if (name.kind == PickleValue::Kind::kText && as_text(name.bytes) == key) return &at(items[i + 1]);
  }
  return nullptr;
}

}  // namespace unstarve
