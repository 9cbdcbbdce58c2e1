#include "unstarve/storage/remote/http/http_request.h"

#include "unstarve/storage/remote/http/text.h"

namespace unstarve::remote {
namespace {

// Longer values are ignored; no header in use is that long.
constexpr std::size_t kLongestValue = 1024;

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view value) {
  value = trim(value);
  if (value.size() < 6 || lower(value.substr(0, 5)) != "bytes" || value[5] != ' ') return std::nullopt;
  value = trim(value.substr(6));
  const std::size_t slash = value.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view range = value.substr(0, slash), total = value.substr(slash + 1);
  ContentRange out;
  if (total != "*") {
    out.total = parse_number<std::uint64_t>(total);
    if (!out.total) return std::nullopt;
  }
  if (range == "*") {
    out.unsatisfied = true;
    if (!out.total) return std::nullopt;
    return out;
  }
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_number<std::uint64_t>(range.substr(0, dash)),
             last = parse_number<std::uint64_t>(range.substr(dash + 1));
  if (!first || !last || *first > *last || (out.total && *last >= *out.total)) return std::nullopt;
  out.first = *first;
  out.last = *last;
  return out;
}

void take_header_line(std::string_view line, ReplyHeaders& headers) {
  if (line.substr(0, 5) == "HTTP/") {
    headers = {};
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return;
    const auto status = parse_number<std::uint64_t>(line.substr(space + 1, 3));
    headers.status = status ? static_cast<long>(*status) : 0;
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string name = lower(trim(line.substr(0, colon)));
  const std::string_view value = trim(line.substr(colon + 1));
  if (value.size() > kLongestValue || has_control(value)) return;
  if (name == "etag") headers.etag = value;
  if (name == "last-modified") headers.last_modified = value;
  if (name == "content-range") headers.content_range = value;
  if (name == "content-length") headers.content_length = parse_number<std::uint64_t>(value);
  if (name == "x-amz-bucket-region") headers.bucket_region = value;
}

std::optional<std::string> difference_from(const ObjectPin& pin, const ReplyHeaders& headers) {
  const auto differs = [](const char* what, const std::string& found, const std::string& expected) {
    return std::string(what) + " is now " + (found.empty() ? "absent" : found) + ", was " + expected +
           " when it was opened";
  };
  // A proxy that compresses, for example, makes an ETag weak: W/"x" and "x" are of the same object.
  const auto opaque = [](std::string_view etag) { return etag.starts_with("W/") ? etag.substr(2) : etag; };
  if (!pin.etag.empty() && opaque(headers.etag) != opaque(pin.etag)) return differs("its ETag", headers.etag, pin.etag);
  if (pin.etag.empty() && !pin.last_modified.empty() && headers.last_modified != pin.last_modified) {
    return differs("its Last-Modified", headers.last_modified, pin.last_modified);
  }
  return std::nullopt;
}

}  // namespace unstarve::remote
