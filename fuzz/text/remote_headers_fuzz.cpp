// Arbitrary bytes as the header lines of an HTTP response, and as a URL.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/storage/remote/http/http_request.h"
#include "unstarve/storage/remote/http/url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace unstarve::remote;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReplyHeaders headers;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::size_t length = end == std::string_view::npos ? rest.size() : end + 1;
    take_header_line(rest.substr(0, length), headers);
    if (const auto range = parse_content_range(headers.content_range)) {
      if (!range->unsatisfied && (range->first > range->last || (range->total && range->last >= *range->total))) {
        __builtin_trap();
      }
      if (range->unsatisfied && !range->total) __builtin_trap();
    }
    rest.remove_prefix(length);
  }
  try {
    const RemoteUrl url = parse_remote_url(text.substr(0, text.find('\n')));
    const std::string shown = url.display_name();
    if (url.is_bucket() ? url.bucket.empty() : url.path.empty() || url.path[0] != '/') __builtin_trap();
    if (!url.is_bucket() && parse_remote_url(url.request_url()).request_url() != url.request_url()) __builtin_trap();
  } catch (const unstarve::Error&) {
  }
  return 0;
}
