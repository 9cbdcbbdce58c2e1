#include "unstarve/codecs/jpeg/jpeg_decoder.h"

#include <vector>

#include "unstarve/codecs/jpeg/baseline_decoder.h"
#include "unstarve/codecs/jpeg/libjpeg/libjpeg_decoder.h"
#include "unstarve/core/format_error.h"

namespace unstarve {

struct JpegDecoder::State {
  LibjpegDecoder libjpeg;
  bool opened = false;

  bool use_own_decoder = true;
  bool used_own_decoder = false;
  BaselineImage image;
  BaselineDecoder own;
  ScanIndex scan_index;
  IndexUse index_use = IndexUse::kNone;
  std::vector<std::uint8_t> made_index;

  // By our own decoder, which reads Huffman codes, transforms and colours one row of blocks after the other and passes
  // its rows to `out`, of request.rect only; false if it does not support the file or finds it damaged.
  bool decode_own(const JpegRequest& request, RowSink& out) {
    if (!libjpeg.read_baseline(image)) return false;
    if (!request.index.empty() && scan_index.read(request.index, image) &&
        own.decode(image, request.reduction, request.rect, scan_index, out)) {
      index_use = IndexUse::kUsed;
      return true;
    }
    const bool intact = request.make_index
                            ? own.decode_and_index(image, request.reduction, request.rect, scan_index, out)
                            : own.decode(image, request.reduction, request.rect, out);
    if (!intact) return false;
    // Not earlier: the index of a damaged image cannot be judged.
    if (!request.index.empty())
      index_use = ScanIndex::is_of_other_version(request.index) ? IndexUse::kOtherVersion : IndexUse::kWrong;
    if (request.make_index && scan_index.complete()) scan_index.write(image, made_index);
    return true;
  }
};

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {}
JpegDecoder::~JpegDecoder() = default;
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder& JpegDecoder::operator=(JpegDecoder&&) noexcept = default;

ImageHeader JpegDecoder::open(std::span<const std::uint8_t> bytes) {
  state_->opened = false;
  const ImageHeader header = state_->libjpeg.open(bytes);
  state_->opened = true;
  return header;
}

void JpegDecoder::use_own_decoder(bool use) noexcept { state_->use_own_decoder = use; }
bool JpegDecoder::used_own_decoder() const noexcept { return state_->used_own_decoder; }
std::uint64_t JpegDecoder::mcus_read() const noexcept { return state_->own.mcus_read(); }
void JpegDecoder::use_pairs(bool use) noexcept { state_->own.use_pairs(use); }

IndexUse JpegDecoder::index_use() const noexcept { return state_->index_use; }
std::span<const std::uint8_t> JpegDecoder::made_index() const noexcept { return state_->made_index; }

void JpegDecoder::decode(const JpegRequest& request, Image& out) {
  ImageRows rows(out);
  (void)decode(request, rows, out);
}

bool JpegDecoder::decode(const JpegRequest& request, RowSink& rows, Image& out) {
  State& state = *state_;
  if (!state.opened) throw argument_error("JPEG: decode() without a preceding open()");
  state.opened = false;
  state.index_use = IndexUse::kNone;
  state.made_index.clear();
  state.used_own_decoder = false;
  // Throws if the file is too short for the rows of `rect`, before memory is allocated for them.
  state.libjpeg.check_scan_length(request.reduction, request.rect);
  state.used_own_decoder = state.use_own_decoder && state.decode_own(request, rows);
  if (!state.used_own_decoder) state.libjpeg.decode(request.reduction, request.rect, out);
  return state.used_own_decoder;
}

}  // namespace unstarve
