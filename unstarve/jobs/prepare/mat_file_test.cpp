#include "unstarve/jobs/prepare/mat_file.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"

using namespace unstarve;

namespace {

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string element(std::uint32_t type, const std::string& body) {
  if (body.size() <= 4) {
    std::string small = raw(static_cast<std::uint16_t>(type)) + raw(static_cast<std::uint16_t>(body.size())) + body;
    small.resize(8);
    return small;
  }
  std::string whole = raw(type) + raw(static_cast<std::uint32_t>(body.size())) + body;
  whole.resize((whole.size() + 7) / 8 * 8);
  return whole;
}

std::string matrix(std::uint32_t array_class, std::int32_t rows, const std::string& name, const std::string& body) {
  return element(14, element(6, raw(array_class) + raw(0U)) + element(5, raw(rows) + raw(1)) + element(1, name) + body);
}

struct Synset {
  int id;
  std::string wnid;
  int children;
};

std::string field(std::string name) {
  name.resize(16);
  return name;
}

// As in the devkit, but not compressed.
std::string file_of(const std::vector<Synset>& synsets) {
  std::string body = element(5, raw(16)) + element(1, field("ILSVRC2012_ID") + field("WNID") + field("num_children"));
  for (const Synset& synset : synsets) {
    body += matrix(6, 1, "", element(9, raw(static_cast<double>(synset.id))));
    body += matrix(4, 1, "", element(16, synset.wnid));
    body += matrix(6, 1, "", element(2, raw(static_cast<std::uint8_t>(synset.children))));
  }
  const std::string head = std::string("MATLAB 5.0 MAT-file").append(105, ' ') + raw(std::uint16_t{0x0100}) + "IM";
  return head + matrix(6, 1, "other", element(9, raw(1.0))) +
         matrix(2, static_cast<std::int32_t>(synsets.size()), "synsets", body);
}

std::map<int, std::string> parse(const std::string& file) {
  return parse_imagenet_classes({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, "meta.mat");
}

}  // namespace

TEST_CASE("meta.mat: classes are the synsets without children") {
  const auto classes = parse(file_of({{2, "n02100735", 0}, {1, "n02119789", 0}, {1001, "n00001740", 7}}));
  CHECK(classes == std::map<int, std::string>{{1, "n02119789"}, {2, "n02100735"}});
}

TEST_CASE("meta.mat: as written by scipy 1.17.1, compressed and uncompressed") {
  // savemat() of an object array of (ILSVRC2012_ID, WNID, words, gloss, num_children, children, wordnet_height,
  // num_train_images), two leaves and one synset with children.
  for (const char* file : {"fuzz/corpus/mat/scipy_compressed", "fuzz/corpus/mat/scipy_plain"}) {
    CHECK(parse(read_text_file(file)) == std::map<int, std::string>{{1, "n02119789"}, {2, "n02100735"}});
  }
}

TEST_CASE("meta.mat: truncated files are rejected, and any changed byte is safe") {
  const std::string file = file_of({{1, "n02119789", 0}, {2, "n02100735", 0}});
  for (std::size_t length = 0; length < file.size(); ++length) {
    // Copied, so that a sanitizer sees a read beyond it.
    const std::vector<char> cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
    try {
      // The padding of the last field to 8 bytes is optional.
      const auto classes = parse(std::string(cut.begin(), cut.end()));
      CHECK((length + 8 > file.size() && classes.size() == 2));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
    }
  }
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const int change : {1, 0x80, 0xFF}) {
      std::string other = file;
      other[at] = static_cast<char>(other[at] ^ change);
      try {
        (void)parse(other);
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::kInput);
      }
    }
  }
}

TEST_CASE("meta.mat: a WNID that is a path, two classes with the same number and other variables are rejected") {
  CHECK_THROWS_WITH(parse(file_of({{1, "../../etc", 0}})), Catch::Contains("WNID"));
  CHECK_THROWS_WITH(parse(file_of({{1, "n1", 0}, {1, "n2", 0}})), Catch::Contains("two classes with number 1"));
  CHECK_THROWS_WITH(parse(file_of({}).substr(0, 128)), Catch::Contains("synsets"));
  CHECK_THROWS_WITH(parse("no MATLAB"), Catch::Contains("MATLAB"));
}
