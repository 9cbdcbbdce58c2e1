#include "unstarve/storage/remote/bucket_settings.h"

#include <map>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/remote/bucket_client.h"
#include "unstarve/storage/remote/credential_helper.h"

namespace unstarve::remote {
namespace {

using Variables = std::map<std::string, std::string>;

Environment environment_of(Variables values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

// What a helper replies that found a profile.
BucketSettings profile(Scheme) {
  BucketSettings settings;
  settings.key = SigningKey{"ID", "secret", "token"};
  settings.region = "eu-west-1";
  settings.endpoint_url = "http://profile";
  settings.addressing_style = "virtual";
  return settings;
}

BucketSettings unasked(Scheme) { throw Error(ErrorKind::kInternal, "the helper was called"); }

std::string message_of(Scheme scheme, Variables values) {
  try {
    (void)read_bucket_settings(scheme, environment_of(std::move(values)), unasked);
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a key in the environment needs no helper") {
  const BucketSettings s3 = read_bucket_settings(Scheme::kS3,
                                                 environment_of({{"AWS_ACCESS_KEY_ID", "ID3"},
                                                                 {"AWS_SECRET_ACCESS_KEY", "s3"},
                                                                 {"AWS_DEFAULT_REGION", "r"},
                                                                 {"AWS_REGION", "q"},
                                                                 {"AWS_ENDPOINT_URL", "http://e"},
                                                                 {"AWS_ENDPOINT_URL_S3", "http://f"}}),
                                                 unasked);
  CHECK(s3.key == SigningKey{"ID3", "s3", ""});
  CHECK(s3.region == "q");
  CHECK(s3.endpoint_url == "http://f");

  const BucketSettings gs = read_bucket_settings(
      Scheme::kGs, environment_of({{"GS_ACCESS_KEY_ID", "I"}, {"GS_SECRET_ACCESS_KEY", "S"}}), unasked);
  CHECK(gs.key == SigningKey{"I", "S", ""});
  CHECK(gs.region == "auto");
  CHECK(gs.endpoint_url == "https://storage.googleapis.com");

  const BucketSettings az = read_bucket_settings(
      Scheme::kAz, environment_of({{"AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=x"}, {"AZURE_STORAGE_ACCOUNT", "me"}}),
      unasked);
  CHECK(az.query == "sv=1&sig=x");
  CHECK(az.endpoint_url == "https://me.blob.core.windows.net");
}

TEST_CASE("the environment's region and endpoint take precedence over those of the helper") {
  const BucketSettings found = read_bucket_settings(Scheme::kS3, environment_of({}), profile);
  CHECK(found.key == SigningKey{"ID", "secret", "token"});
  CHECK(found.region == "eu-west-1");
  CHECK(found.endpoint_url == "http://profile");
  CHECK(found.addressing_style == "virtual");
  const BucketSettings set = read_bucket_settings(
      Scheme::kS3, environment_of({{"AWS_REGION", "q"}, {"AWS_ENDPOINT_URL", "http://e"}}), profile);
  CHECK(set.region == "q");
  CHECK(set.endpoint_url == "http://e");
  CHECK(set.key->access_key == "ID");
}

TEST_CASE("unusable settings are an error without secrets") {
  CHECK_THAT(message_of(Scheme::kS3, {{"AWS_ACCESS_KEY_ID", "x"}}), Catch::Contains("without its secret"));
  CHECK_THAT(message_of(Scheme::kS3, {{"AWS_SECRET_ACCESS_KEY", "S3CRET"}}),
             Catch::Contains("without its access key id") && !Catch::Contains("S3CRET"));
  CHECK_THAT(message_of(Scheme::kS3, {{"AWS_ACCESS_KEY_ID", "x"}, {"AWS_SECRET_ACCESS_KEY", "S3CRET\nX: y"}}),
             Catch::Contains("control character") && !Catch::Contains("S3CRET"));
  CHECK_THAT(message_of(Scheme::kAz, {{"AZURE_STORAGE_SAS_TOKEN", "S3CRET"}}),
             Catch::Contains("AZURE_STORAGE_ACCOUNT") && !Catch::Contains("S3CRET"));
}

TEST_CASE("the helper's line is found in all that packages print") {
  const BucketSettings key = parse_helper_output(
      "a warning\n\n{\"key\": \"K\", \"secret\": \"S\", \"token\": \"T\", \"expires\": 1700000000, \"region\": \"r\", "
      "\"endpoint_url\": \"http://e\", \"addressing_style\": \"path\"}\nanother warning\n",
      "obtain");
  CHECK(key.key == SigningKey{"K", "S", "T"});
  REQUIRE(key.expires);
  CHECK(std::chrono::system_clock::to_time_t(*key.expires) == 1700000000);
  CHECK(key.region == "r");
  CHECK(key.endpoint_url == "http://e");
  CHECK(key.addressing_style == "path");
  CHECK(parse_helper_output("\n{\"bearer\": \"B\"}", "obtain").bearer == "B");
  const BucketSettings none = parse_helper_output("\n{\"unsigned\": \"none found\"}\n", "obtain");
  CHECK_FALSE(none.is_signed());
  CHECK(none.why_unsigned == "none found");
}

TEST_CASE("a helper that fails is an error with its reason, and without secrets") {
  const auto reason = [](const std::string& output) {
    try {
      (void)parse_helper_output(output, "obtain");
    } catch (const Error& error) {
      return std::string(to_string(error.kind())) + ": " + error.what();
    }
    return std::string("accepted");
  };
  CHECK(reason("\n{\"error\": \"signed out\"}\n") == "argument: obtain: signed out");
  CHECK_THAT(reason("Fatal Python error"), Catch::StartsWith("internal: obtain: found 'Fatal Python error'"));
  CHECK_THAT(reason(""), Catch::StartsWith("internal: obtain: found ''"));
  CHECK_THAT(reason("\n[1]\n"), Catch::StartsWith("internal: "));
  for (const char* bad :
       {"\n{\"bearer\": \"S3CRET", "\n{\"bearer\": \"S3CRET\\r\\nX: y\"}\n", "\n{\"key\": 5, \"secret\": \"S3CRET\"}\n",
        "\n{\"bearer\": \"S3CRET\", \"expires\": \"soon\"}\n"}) {
    INFO(bad);
    const std::string found = reason(bad);
    CHECK((found.starts_with("internal: ") || found.starts_with("argument: obtain: found a control character")));
    CHECK_THAT(found, !Catch::Contains("S3CRET"));
  }
}

TEST_CASE("buckets are addressed by host name or by path") {
  BucketSettings settings;
  const auto url = [&](BucketAddressing addressing, const char* bucket, const char* key) {
    const BucketAddress address = address_of(settings, addressing, "eu-west-1", bucket, key);
    return address.scheme + "://" + address.host + address.path;
  };
  CHECK(url(BucketAddressing::kAuto, "b", "k y/ü") == "https://b.s3.eu-west-1.amazonaws.com/k%20y/%C3%BC");
  CHECK(url(BucketAddressing::kAuto, "b.c", "k") == "https://s3.eu-west-1.amazonaws.com/b.c/k");
  CHECK(url(BucketAddressing::kAuto, "b", "") == "https://b.s3.eu-west-1.amazonaws.com/");
  CHECK(url(BucketAddressing::kPath, "b", "") == "https://s3.eu-west-1.amazonaws.com/b");
  settings.endpoint_url = "http://host:80/base/";
  CHECK(url(BucketAddressing::kAuto, "b", "k") == "http://host/base/b/k");
  CHECK(url(BucketAddressing::kVirtualHost, "b", "k") == "http://b.host/base/k");
  settings.addressing_style = "virtual";
  CHECK(url(BucketAddressing::kAuto, "b", "k") == "http://b.host/base/k");
  for (const char* bad : {"host:9000", "s3://x", "http://u:S3CRET@h", "http://h/?S3CRET"}) {
    settings.endpoint_url = bad;
    try {
      (void)url(BucketAddressing::kAuto, "b", "k");
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Catch::Contains("AWS_ENDPOINT_URL") && !Catch::Contains("S3CRET"));
    }
  }
}

}  // namespace unstarve::remote
