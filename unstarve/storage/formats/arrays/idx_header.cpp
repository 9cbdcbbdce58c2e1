#include "unstarve/storage/formats/arrays/idx_header.h"

#include <string>

#include "unstarve/core/error.h"
#include "unstarve/storage/formats/arrays/product.h"

namespace unstarve {
namespace {

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

[[noreturn]] void refuse_idx(const std::string& what) { throw Error(ErrorKind::kInput, what); }

}  // namespace

IdxHeader read_idx_header(std::span<const std::uint8_t> head) {
  if (head.size() < 4 || head[0] != 0 || head[1] != 0) refuse_idx("not an idx file: expected two zero bytes at the start");
  const ElementType* const type = find_type(head[2]);
  if (type == nullptr) refuse_idx("element type " + std::to_string(head[2]) + "; expected 8, 9, 11 or 12 (integers)");
  const int dimensions = head[3];
  if (dimensions < 1 || dimensions > kMaxIdxDimensions) {
    refuse_idx(std::to_string(dimensions) + " dimensions; expected 1 to " + std::to_string(kMaxIdxDimensions));
  }
  IdxHeader header;
  header.element_bytes = type->bytes;
  header.is_signed = type->is_signed;
  header.header_bytes = 4 + 4 * static_cast<std::size_t>(dimensions);
  if (head.size() < header.header_bytes) refuse_idx("truncated: the file ends inside its header");
  header.data_bytes = type->bytes;
  for (int i = 0; i < dimensions; ++i) {
    header.shape.push_back(load_big_u32(head.data() + 4 + 4 * i));
    if (header.shape.back() == 0) refuse_idx("dimension " + std::to_string(i) + " is 0; expected at least 1");
    header.data_bytes = product(header.data_bytes, header.shape.back());
  }
  return header;
}

IdxHeader parse_idx_header(std::span<const std::uint8_t> head, std::uint64_t file_bytes) {
  IdxHeader header = read_idx_header(head);
  const std::uint64_t available = file_bytes - header.header_bytes;
  if (header.data_bytes != available) {
    refuse_idx((header.data_bytes > available ? "truncated: the header declares " : "the header declares ") +
           std::to_string(header.data_bytes) + " bytes of elements, the file contains " + std::to_string(available));
  }
  return header;
}

}  // namespace unstarve
