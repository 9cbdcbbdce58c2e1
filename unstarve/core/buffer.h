#pragma once
// Bytes that several owners share without copying them: an owner kept alive, and a span of its memory.
//
// Ownership: copies and slices of a Buffer share one owner; the memory goes when the last of them does.
// Threads:   the count is atomic: copy, slice and destroy from any thread. The bytes are read-only once shared.
// Failure:   Error(kArgument) for a slice out of range; Error(kInternal) for writing into shared or foreign memory;
//            std::bad_alloc.
// Cost:      one allocation to make one, none to copy or slice.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace unstarve {

class Buffer {
 public:
  // Empty.
  Buffer() = default;

  // Fresh memory, 64-byte aligned, its contents undefined; fill it through writable() before sharing it.
  [[nodiscard]] static Buffer allocate(std::size_t bytes);
  [[nodiscard]] static Buffer copy_of(std::span<const std::uint8_t> bytes);
  [[nodiscard]] static Buffer take(std::string text);
  // Memory of someone else, kept alive by `owner` (a MappedFile, a Python object, an Arrow buffer, ...). The owner is
  // released by whichever thread drops the last reference. A null owner means memory that outlives the program.
  [[nodiscard]] static Buffer wrap(std::shared_ptr<const void> owner, std::span<const std::uint8_t> bytes);

  // `length` bytes from `offset` on, sharing the owner.
  [[nodiscard]] Buffer slice(std::size_t offset, std::size_t length) const;

  // The same bytes for writing: only of memory made by allocate() or copy_of() that nobody else holds.
  [[nodiscard]] std::span<std::uint8_t> writable();

  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(data()), size()}; }

 private:
  Buffer(std::shared_ptr<const void> owner, std::span<const std::uint8_t> bytes, bool ours)
      : owner_(std::move(owner)), bytes_(bytes), ours_(ours) {}

  std::shared_ptr<const void> owner_;
  std::span<const std::uint8_t> bytes_;
  bool ours_ = false;  // the memory is this class's own, hence writable while unshared
};

}  // namespace unstarve
