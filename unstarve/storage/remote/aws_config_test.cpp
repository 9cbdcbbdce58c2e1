#include "unstarve/storage/remote/aws_config.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/remote/bucket_client.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve::remote {
namespace {

Environment environment_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

std::string message_of(const Environment& environment) {
  try {
    (void)read_aws_settings(environment);
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
  return "accepted";
}

constexpr const char* kCredentials =
    "# made by hand\r\n[default]\r\naws_access_key_id = ID1\naws_secret_access_key=a=b \n\n"
    "[work]\nAWS_ACCESS_KEY_ID=ID2\naws_secret_access_key = s2\naws_session_token = t2\n";
constexpr const char* kConfig =
    "[default]\nregion = eu-west-1\n[profile work]\nregion=eu-central-1\ns3 =\n  addressing_style = virtual\n"
    "  ; comment\nservices = mine\nendpoint_url = http://all\n[services mine]\ns3 =\n\tendpoint_url = http://s3\n"
    "[profile role]\nrole_arn = arn:x\nsource_profile = work\n";

}  // namespace

TEST_CASE("the environment takes precedence over files, and the named profile over the default") {
  testing::TemporaryFolder home;
  home.write(".aws/credentials", kCredentials);
  home.write(".aws/config", kConfig);
  const AwsSettings plain = read_aws_settings(environment_of({{"HOME", home.str()}}));
  REQUIRE(plain.key);
  CHECK(plain.key->access_key == "ID1");
  CHECK(plain.key->secret == "a=b");
  CHECK(plain.region == "eu-west-1");
  CHECK(plain.endpoint_url.empty());

  const AwsSettings work = read_aws_settings(environment_of({{"HOME", home.str()}, {"AWS_PROFILE", "work"}}));
  REQUIRE(work.key);
  CHECK(work.key->access_key == "ID2");
  CHECK(work.key->session_token == "t2");
  CHECK(work.region == "eu-central-1");
  CHECK(work.endpoint_url == "http://s3");
  CHECK(work.addressing_style == "virtual");

  const AwsSettings set = read_aws_settings(environment_of({{"HOME", home.str()},
                                                            {"AWS_ACCESS_KEY_ID", "ID3"},
                                                            {"AWS_SECRET_ACCESS_KEY", "s3"},
                                                            {"AWS_DEFAULT_REGION", "r"},
                                                            {"AWS_REGION", "q"},
                                                            {"AWS_ENDPOINT_URL", "http://e"},
                                                            {"AWS_ENDPOINT_URL_S3", "http://f"}}));
  CHECK(set.key->access_key == "ID3");
  CHECK(set.region == "q");
  CHECK(set.endpoint_url == "http://f");
}

TEST_CASE("files may be elsewhere or absent") {
  testing::TemporaryFolder folder;
  folder.write("c", "[default]\naws_access_key_id=I\naws_secret_access_key=S\n");
  CHECK(read_aws_settings(environment_of({{"AWS_SHARED_CREDENTIALS_FILE", folder.str("c")}})).key->secret == "S");
  CHECK_FALSE(read_aws_settings(environment_of({})).key);
}

TEST_CASE("unusable settings are an error without secrets") {
  testing::TemporaryFolder home;
  home.write(".aws/credentials", kCredentials);
  home.write(".aws/config", kConfig);
  CHECK_THAT(message_of(environment_of({{"HOME", home.str()}, {"AWS_PROFILE", "x"}})),
             Catch::Contains("no such profile"));
  CHECK_THAT(message_of(environment_of({{"HOME", home.str()}, {"AWS_PROFILE", "role"}})),
             Catch::Contains("role_arn") && Catch::Contains("aws configure export-credentials --profile role"));
  CHECK_THAT(message_of(environment_of({{"AWS_ACCESS_KEY_ID", "x"}})), Catch::Contains("without its secret"));
  CHECK_THAT(message_of(environment_of({{"AWS_SECRET_ACCESS_KEY", "S3CRET"}})),
             Catch::Contains("without its access key id") && !Catch::Contains("S3CRET"));
  CHECK_THAT(message_of(environment_of({{"AWS_ACCESS_KEY_ID", "x"}, {"AWS_SECRET_ACCESS_KEY", "S3CRET\nX: y"}})),
             Catch::Contains("control character") && !Catch::Contains("S3CRET"));
  for (const char* bad : {"[default]\nS3CRET\n", "S3CRET=x\n", "[default\nS3CRET=x", "[default]\n=S3CRET\n"}) {
    home.write(".aws/credentials", bad);
    const std::string message = message_of(environment_of({{"HOME", home.str()}}));
    CHECK_THAT(message, Catch::StartsWith("input: ") && Catch::Contains(".aws/credentials, line"));
    CHECK_THAT(message, !Catch::Contains("S3CRET"));
  }
  CHECK_THROWS_AS(parse_ini(std::string((1 << 20) + 1, '\n'), "f"), Error);
}

TEST_CASE("a truncated settings file is parsed or rejected") {
  const std::string whole = kConfig;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    try {
      const IniFile file = parse_ini(std::string_view(whole).substr(0, length), "f");
      CHECK(file.size() <= 4);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
    }
  }
}

TEST_CASE("buckets are addressed by host name or by path") {
  AwsSettings settings;
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
