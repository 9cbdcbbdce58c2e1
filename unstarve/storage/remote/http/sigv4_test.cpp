#include "unstarve/storage/remote/http/sigv4.h"

#include <algorithm>

#include <catch2/catch.hpp>

namespace unstarve::remote {
namespace {

std::string authorization(const std::vector<NameValue>& headers) {
  for (const auto& [name, value] : headers)
    if (name == "Authorization") return value;
  return {};
}

// The key and time of the examples in Amazon's S3 API reference, "Signature calculations: examples".
const SigningKey kKey{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
constexpr std::int64_t kMay24 = 1369353600;  // 2013-05-24T00:00:00Z

}  // namespace

TEST_CASE("the signature of Amazon's example of a ranged GET") {
  UnsignedRequest request;
  request.host = "examplebucket.s3.amazonaws.com";
  request.path = "/test.txt";
  request.headers = {{"Range", "bytes=0-9"}};
  CHECK(authorization(sign_v4(request, kKey, "us-east-1", kMay24)) ==
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_CASE("the signature of Amazon's example of a list") {
  UnsignedRequest request;
  request.host = "examplebucket.s3.amazonaws.com";
  request.path = "/";
  request.query = encode_query({{"prefix", "J"}, {"max-keys", "2"}});
  CHECK(request.query == "max-keys=2&prefix=J");
  CHECK_THAT(authorization(sign_v4(request, kKey, "us-east-1", kMay24)),
             Catch::EndsWith("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST_CASE("a session token is sent and signed") {
  SigningKey key = kKey;
  key.session_token = "token";
  UnsignedRequest request;
  request.host = "h";
  request.path = "/";
  const auto headers = sign_v4(request, key, "r", kMay24);
  CHECK(std::count(headers.begin(), headers.end(), NameValue{"X-Amz-Security-Token", "token"}) == 1);
  CHECK_THAT(authorization(headers), Catch::Contains(";x-amz-security-token,"));
}

}  // namespace unstarve::remote
