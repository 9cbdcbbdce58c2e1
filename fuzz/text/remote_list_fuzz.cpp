// Arbitrary bytes as a page of a bucket listing and as an error of a bucket.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/storage/remote/bucket_xml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace unstarve::remote;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const ListPage page = parse_list_page(text, "fuzz");
    if (page.truncated && page.continuation_token.empty()) __builtin_trap();
    for (const ListedObject& object : page.objects) {
      if (object.key.empty()) __builtin_trap();
    }
    for (const std::string& prefix : page.prefixes) {
      if (prefix.empty()) __builtin_trap();
    }
  } catch (const unstarve::Error&) {
  }
  if (bucket_error_text(text).size() > 200) __builtin_trap();
  return 0;
}
