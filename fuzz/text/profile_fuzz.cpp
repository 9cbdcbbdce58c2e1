// Arbitrary bytes as the JSON of a Profile: rejected with Error(kInput), or equal after writing and reading it again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/core/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  unstarve::Profile profile;
  try {
    profile = unstarve::profile_from_json(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const unstarve::Error& error) {
    if (error.kind() != unstarve::ErrorKind::kInput) std::abort();
    return 0;
  }
  const std::string text = unstarve::to_json(profile);
  if (unstarve::to_json(unstarve::profile_from_json(text)) != text) std::abort();
  return 0;
}
