#include "unstarve/core/buffer.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "unstarve/core/aligned.h"
#include "unstarve/core/error.h"

namespace unstarve {

Buffer Buffer::allocate(std::size_t bytes) {
  auto memory = std::make_shared<AlignedBytes>(bytes);
  const std::span<const std::uint8_t> span(memory->data(), bytes);
  return {std::move(memory), span, true};
}

Buffer Buffer::copy_of(std::span<const std::uint8_t> bytes) {
  Buffer buffer = allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.writable().data(), bytes.data(), bytes.size());
  return buffer;
}

Buffer Buffer::take(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const std::span<const std::uint8_t> span(reinterpret_cast<const std::uint8_t*>(owner->data()), owner->size());
  return {std::move(owner), span, false};
}

Buffer Buffer::wrap(std::shared_ptr<const void> owner, std::span<const std::uint8_t> bytes) {
  return {std::move(owner), bytes, false};
}

Buffer Buffer::slice(std::size_t offset, std::size_t length) const {
  if (offset > size() || length > size() - offset) {
    throw Error(ErrorKind::kArgument,
                fmt::format("slice of a buffer: {} bytes from {} on, of {} bytes", length, offset, size()));
  }
  return {owner_, bytes_.subspan(offset, length), ours_};
}

std::span<std::uint8_t> Buffer::writable() {
  if (empty()) return {};
  if (!ours_ || owner_.use_count() != 1) {
    throw Error(ErrorKind::kInternal, fmt::format("write to a buffer of {} bytes that is {}", size(),
                                                  ours_ ? "shared" : "not its own memory"));
  }
  return {const_cast<std::uint8_t*>(bytes_.data()), bytes_.size()};
}

}  // namespace unstarve
