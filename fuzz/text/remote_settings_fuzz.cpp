// Arbitrary bytes as ~/.aws/credentials or ~/.aws/config.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/storage/remote/aws_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const auto& [section, values] : unstarve::remote::parse_ini(text, "fuzz")) {
      for (const auto& [name, value] : values) {
        if (name.find('\n') != std::string::npos || value.find('\n') != std::string::npos) __builtin_trap();
      }
    }
  } catch (const unstarve::Error&) {
  }
  return 0;
}
