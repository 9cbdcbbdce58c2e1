#include "unstarve/storage/bytes/forward_bytes.h"

#include <algorithm>
#include <cstring>

#include "unstarve/core/cancel.h"

namespace unstarve {
namespace {

class Mapped final : public ForwardBytes {
 public:
  explicit Mapped(const ByteSource& source) : source_(source), bytes_(source.mapped()) {}

  std::span<const std::uint8_t> at(std::uint64_t offset, std::size_t length) override {
    throw_if_cancelled();
    const std::uint64_t begin = std::min<std::uint64_t>(offset, bytes_.size());
    return bytes_.subspan(begin, std::min<std::uint64_t>(length, bytes_.size() - begin));
  }
  const std::string& name() const noexcept override { return source_.name(); }

 private:
  const ByteSource& source_;
  std::span<const std::uint8_t> bytes_;
};

// Holds one piece of the source, [begin_, begin_ + held_).
class Pieces final : public ForwardBytes {
 public:
  explicit Pieces(const ByteSource& source) : source_(source) {}

  std::span<const std::uint8_t> at(std::uint64_t offset, std::size_t length) override {
    throw_if_cancelled();
    const std::uint64_t size = source_.size();
    if (offset >= size) return {};
    length = static_cast<std::size_t>(std::min<std::uint64_t>(length, size - offset));
    if (offset < begin_ || offset + length > begin_ + held_) fetch(offset, length);
    return std::span<const std::uint8_t>(piece_).subspan(offset - begin_, length);
  }
  const std::string& name() const noexcept override { return source_.name(); }

 private:
  // The number of concurrent requests for one piece of a remote source.
  static constexpr std::size_t kRequests = 8;

  void fetch(std::uint64_t offset, std::size_t length) {
    const auto target = static_cast<std::size_t>(
        std::min<std::uint64_t>(std::max(length, kForwardPieceBytes), source_.size() - offset));
    // Bytes in memory are moved, not read again.
    const bool reuses = offset >= begin_ && offset < begin_ + held_;
    const std::size_t overlap = reuses ? static_cast<std::size_t>(begin_ + held_ - offset) : 0;
    if (overlap > 0) std::memmove(piece_.data(), piece_.data() + (offset - begin_), overlap);
    piece_.resize(std::max(piece_.size(), target));
    begin_ = offset;
    held_ = overlap;
    const std::span<std::uint8_t> rest = std::span(piece_).subspan(overlap, target - overlap);
    const std::size_t each = std::max<std::size_t>(rest.size() / kRequests, std::size_t{1} << 20);
    std::vector<ReadRange> ranges;
    for (std::size_t done = 0; done < rest.size(); done += each) {
      ranges.push_back({offset + overlap + done, rest.subspan(done, std::min(each, rest.size() - done))});
    }
    source_.read_many(ranges);
    held_ = target;
  }

  const ByteSource& source_;
  std::vector<std::uint8_t> piece_;
  std::uint64_t begin_ = 0;
  std::size_t held_ = 0;
};

}  // namespace

std::unique_ptr<ForwardBytes> read_forward(const ByteSource& source) {
  if (source.size() > 0 && source.mapped().empty()) return std::make_unique<Pieces>(source);
  return std::make_unique<Mapped>(source);
}

}  // namespace unstarve
