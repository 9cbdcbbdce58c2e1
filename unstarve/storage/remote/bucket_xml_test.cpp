#include "unstarve/storage/remote/bucket_xml.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"

namespace unstarve::remote {
namespace {

const std::string kPage =
    "<?xml version='1.0' encoding='UTF-8'?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
    "<Name>b</Name><Prefix>p</Prefix><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
    "<Contents><Key>a+b%2Bc%26</Key><Size>12</Size><ETag>&quot;x&quot;</ETag><Owner><ID>o</ID></Owner></Contents>"
    "<Contents><Size>18446744073709551615</Size><Key>z</Key></Contents>"
    "<NextContinuationToken>t&amp;1</NextContinuationToken></ListBucketResult>";

std::string reason(const std::string& xml) {
  try {
    (void)parse_list_page(xml, "s3://b/");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInput);
    return error.what();
  }
  return "accepted";
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kPage;
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a page of a list is parsed") {
  const ListPage page = parse_list_page(kPage, "s3://b/");
  REQUIRE(page.objects.size() == 2);
  CHECK(page.objects[0].key == "a b+c&");
  CHECK(page.objects[0].bytes == 12);
  CHECK(page.objects[0].etag == "\"x\"");
  CHECK(page.objects[1].etag.empty());
  CHECK(parse_list_page(replaced("&quot;x&quot;", "x"), "s3://b/").objects[0].etag == "\"x\"");
  CHECK(parse_list_page(replaced("&quot;x&quot;", "W/&quot;x&quot;"), "s3://b/").objects[0].etag == "W/\"x\"");
  CHECK(page.objects[1].key == "z");
  CHECK(page.objects[1].bytes == UINT64_MAX);
  CHECK(page.truncated);
  CHECK(page.continuation_token == "t&1");
  // Keys are decoded only if they are encoded.
  CHECK(parse_list_page(replaced("<EncodingType>url</EncodingType>", ""), "x").objects[0].key == "a+b%2Bc%26");
}

TEST_CASE("a page of one level has the prefixes of the levels below") {
  const std::string below =
      "<CommonPrefixes><Prefix>p/a+%2B/</Prefix></CommonPrefixes>"
      "<CommonPrefixes><Prefix>p/z/</Prefix></CommonPrefixes><NextContinuationToken>";
  const ListPage page = parse_list_page(replaced("<NextContinuationToken>", below), "s3://b/");
  CHECK(page.prefixes == std::vector<std::string>{"p/a +/", "p/z/"});
  CHECK(page.objects.size() == 2);
  CHECK(parse_list_page(kPage, "s3://b/").prefixes.empty());  // the page's own is none
}

TEST_CASE("a malformed page is rejected with the reason") {
  CHECK_THAT(reason(""), Catch::Contains("no element found"));
  CHECK_THAT(reason("<html></html>"), Catch::Contains("no <ListBucketResult>"));
  CHECK_THAT(reason(replaced("<Size>12</Size>", "")), Catch::Contains("without its Key or Size"));
  CHECK_THAT(reason(replaced("<Key>z</Key>", "<Key></Key>")), Catch::Contains("without its Key or Size"));
  CHECK_THAT(reason(replaced("<Size>12<", "<Size>-1<")), Catch::Contains("not a number"));
  CHECK_THAT(reason(replaced("18446744073709551615", "18446744073709551616")), Catch::Contains("not a number"));
  CHECK_THAT(reason(replaced("a+b%2B", "a+b%2x")), Catch::Contains("encoding is broken"));
  const auto below = [](const std::string& inside) {
    return reason(replaced("<NextC", "<CommonPrefixes>" + inside + "</CommonPrefixes><NextC"));
  };
  CHECK_THAT(below(""), Catch::Contains("without one"));
  CHECK_THAT(below("<Prefix></Prefix>"), Catch::Contains("without one"));
  CHECK_THAT(below("<Prefix>p/%2x/</Prefix>"), Catch::Contains("a Prefix whose encoding is broken"));
  CHECK_THAT(reason(replaced("t&amp;1", "")), Catch::Contains("without a token"));
  CHECK_THAT(reason(replaced("a+b", std::string(9000, 'a'))), Catch::Contains("too long"));
  CHECK_THAT(reason("<!DOCTYPE x [<!ENTITY a \"b\">]>" + kPage.substr(kPage.find("<List"))),
             Catch::Contains("document type"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<a>";
  CHECK_THAT(reason(deep), Catch::Contains("deeper"));
  for (std::size_t length = 0; length < kPage.size(); ++length) CHECK(reason(kPage.substr(0, length)) != "accepted");
}

TEST_CASE("an error text has only the code and message") {
  CHECK(bucket_error_text("<Error><Code>AccessDenied</Code><Message>No\nway</Message><AWSAccessKeyId>SECRET"
                          "</AWSAccessKeyId></Error>") == "AccessDenied: No way");
  CHECK(bucket_error_text("<Error><Code>X</Code></Error>") == "X");
  CHECK(bucket_error_text("").empty());
  CHECK(bucket_error_text("<html>not found</html>").empty());
  CHECK(bucket_error_text("<Error><Code>X</Code>").empty());
  CHECK(bucket_error_text("<Error><Code>" + std::string(1000, 'x') + "</Code></Error>").size() == 200);
}

TEST_CASE("a page of Azure's list is parsed") {
  const std::string page_text =
      "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ServiceEndpoint=\"https://a/\" "
      "ContainerName=\"c\"><Prefix>p/</Prefix><Delimiter>/</Delimiter><Blobs><Blob><Name>p/a b+c%</Name><Properties>"
      "<Etag>0x8D1</Etag><Content-Length>12</Content-Length><ResourceType>file</ResourceType></Properties></Blob>"
      "<Blob><Name>p/folder</Name><Properties><Etag>0x8D2</Etag><Content-Length>0</"
      "Content-Length><ResourceType>directory"
      "</ResourceType></Properties></Blob><BlobPrefix><Name>p/q/</Name></BlobPrefix></Blobs>";
  const ListPage page = parse_list_page(page_text + "<NextMarker>m</NextMarker></EnumerationResults>", "az://c/p/");
  REQUIRE(page.objects.size() == 1);
  CHECK(page.objects[0].key == "p/a b+c%");
  CHECK(page.objects[0].bytes == 12);
  CHECK(page.objects[0].etag == "\"0x8D1\"");
  CHECK(page.prefixes == std::vector<std::string>{"p/q/"});
  CHECK(page.truncated);
  CHECK(page.continuation_token == "m");
  CHECK_FALSE(parse_list_page(page_text + "<NextMarker /></EnumerationResults>", "az://c/p/").truncated);
  CHECK_THROWS_AS(
      parse_list_page("<EnumerationResults><Blobs><Blob><Name>x</Name></Blob></Blobs></EnumerationResults>", "az://c/"),
      Error);
}

}  // namespace unstarve::remote
