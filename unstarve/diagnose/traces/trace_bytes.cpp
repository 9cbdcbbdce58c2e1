#include "unstarve/diagnose/traces/trace_bytes.h"

#include "unstarve/storage/bytes/inflate.h"

namespace unstarve {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// zlib is recognised by two bytes only and is not used for traces.
Compression compression_of(std::span<const std::uint8_t> head) {
  const Compression compression = detect_compression(head);
  return compression == Compression::kZlib ? Compression::kNone : compression;
}

}  // namespace

TraceBytes::TraceBytes(const std::string& path) : file_(path), compression_(compression_of(file_.mapped())) {
  rewind();
}

void TraceBytes::rewind() {
  at_start_ = true;
  if (compressed()) decoder_ = make_stream_decoder(file_, compression_);
}

std::span<const std::uint8_t> TraceBytes::next() {
  if (!compressed()) {
    if (!at_start_) return {};
    at_start_ = false;
    return file_.mapped();
  }
  piece_.resize(kPieceBytes);
  return {piece_.data(), decoder_->at_end() ? 0 : decoder_->produce(piece_)};
}

}  // namespace unstarve
