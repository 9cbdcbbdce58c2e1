#include "unstarve/storage/remote/http/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "unstarve/core/format_error.h"

namespace unstarve::remote {

Sha256 sha256(std::string_view text) {
  Sha256 out;
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), out.data(), &length, EVP_sha256(), nullptr) != 1 || length != out.size()) {
    throw internal_error("SHA-256: OpenSSL does not provide it");
  }
  return out;
}

Sha256 hmac_sha256(std::span<const std::uint8_t> key, std::string_view text) {
  Sha256 out;
  unsigned length = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char none = 0;  // a null key means "the previous key"
  const void* key_bytes = key.empty() ? &none : key.data();
  if (HMAC(EVP_sha256(), key_bytes, static_cast<int>(key.size()), bytes, text.size(), out.data(), &length) == nullptr ||
      length != out.size()) {
    throw internal_error("HMAC-SHA-256: OpenSSL does not provide it");
  }
  return out;
}

}  // namespace unstarve::remote
