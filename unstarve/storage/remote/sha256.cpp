#include "unstarve/storage/remote/sha256.h"

#include <openssl/evp.h>

#include "unstarve/core/error.h"

namespace unstarve::remote {

Sha256 sha256(std::string_view text) {
  Sha256 out;
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), out.data(), &length, EVP_sha256(), nullptr) != 1 || length != out.size()) {
    throw Error(ErrorKind::kInternal, "SHA-256: OpenSSL does not provide it");
  }
  return out;
}

}  // namespace unstarve::remote
