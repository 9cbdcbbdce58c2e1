#include "unstarve/jobs/common/make_scan_index.h"

namespace unstarve {

std::span<const std::uint8_t> make_scan_index(Decoder& decoder, Image& pixel, std::span<const std::uint8_t> existing) {
  DecodeRequest request;
  request.crop = {0, 0, 1, 1};
  request.index = existing;
  request.make_index = true;
  decoder.decode(request, pixel);
  return decoder.made_index();
}

}  // namespace unstarve
