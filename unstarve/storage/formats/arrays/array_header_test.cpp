#include <catch2/catch.hpp>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/formats/arrays/array_header.h"
#include "unstarve/storage/source/first_bytes.h"
#include "unstarve/storage/testing/byte_text.h"
#include "unstarve/storage/testing/fixtures_folder.h"

namespace unstarve {
namespace {

using testing::bytes_of, testing::error_message;
using Shape = std::vector<std::uint64_t>;
using namespace std::string_literals;

ArrayHeader idx(const std::string& file) {
  ArrayHeader header = read_idx_header(bytes_of(file).first(std::min(file.size(), kMaxIdxHeaderBytes)));
  check_length(header, file.size());
  return header;
}

ArrayHeader npy_bytes(const std::string& file) {
  ArrayHeader header = read_npy_header(bytes_of(file));
  check_length(header, file.size());
  return header;
}

std::string npy_file(const std::string& dict, std::size_t data_bytes, char version = 1) {
  std::string text = dict + "\n";
  std::string file =
      "\x93NUMPY"s + version + '\0' + static_cast<char>(text.size() & 255) + static_cast<char>(text.size() >> 8);
  if (version > 1) file += "\0\0"s;
  return file + text + std::string(data_bytes, 'x');
}

TEST_CASE("the shape of an idx file is parsed") {
  const std::string images = testing::fixture_bytes("idx/train-images-idx3-ubyte");
  CHECK(is_idx_images(bytes_of(images)));
  CHECK_FALSE(is_idx_labels(bytes_of(images)));
  CHECK(idx(images).shape == Shape{5, 12, 16});
  CHECK(idx(images).header_bytes == 16);
  const std::string labels = testing::fixture_bytes("idx/train-labels-idx1-ubyte");
  CHECK(is_idx_labels(bytes_of(labels)));
  CHECK(idx(labels).shape == Shape{5});
  CHECK(idx("\0\0\x0c\1\0\0\0\2"s + std::string(8, 'x')).element_bytes == 4);
}

TEST_CASE("an idx file whose length differs from its header is rejected") {
  const std::string whole = testing::fixture_bytes("idx/train-images-idx3-ubyte");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK(error_message([&] { return idx(whole.substr(0, length)); }) != "no error");
  }
  CHECK_THAT(error_message([&] { return idx(whole + "x"); }),
             Catch::Contains("declares 960 bytes of elements, the file contains 961"));
  CHECK_THAT(error_message([&] { return idx("\0\0\x0d\1\0\0\0\1xxxx"s); }), Catch::Contains("element type 13"));
  CHECK_THAT(error_message([&] { return idx("\0\0\x08\5"s + std::string(64, '\1')); }),
             Catch::Contains("5 dimensions"));
  CHECK_THAT(error_message([&] { return idx("\0\0\x08\1\0\0\0\0"s); }), Catch::Contains("dimension 0 is 0"));
  CHECK_THAT(error_message([&] { return idx("\0\0\x08\4"s + std::string(64, '\xff')); }), Catch::Contains("truncated"));
  CHECK_THAT(error_message([&] { return idx("PK\3\4"); }), Catch::Contains("two zero bytes"));
}

TEST_CASE("the shape and element type of an npy file are parsed") {
  const std::string images = testing::fixture_bytes("npy/images.npy");
  CHECK(is_npy(bytes_of(images)));
  CHECK(npy_bytes(images).shape == Shape{5, 12, 16, 3});
  CHECK(npy_bytes(images).element_bytes == 1);
  CHECK(npy_bytes(images).header_bytes == 128);
  const ArrayHeader labels = npy_bytes(testing::fixture_bytes("npy/labels.npy"));
  CHECK(labels.shape == Shape{5});
  CHECK(labels.element_bytes == 8);
  CHECK(labels.is_signed);
  CHECK(npy_bytes(npy_file("{'descr': '>u2', 'fortran_order': False, 'shape': (3,), }", 6)).big_endian);
  CHECK(npy_bytes(npy_file("{\"shape\":(2L,1),\"descr\":\"|u1\",\"fortran_order\":False}", 2, 2)).shape == Shape{2, 1});
  CHECK(npy_bytes(npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': ()}", 1, 3)).shape.empty());
}

TEST_CASE("an npy file that does not match its header is rejected") {
  const std::string whole = testing::fixture_bytes("npy/images.npy");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK(error_message([&] { return npy_bytes(whole.substr(0, length)); }) != "no error");
  }
  const auto dict = [](const std::string& text) { return error_message([&] { return npy_bytes(npy_file(text, 3)); }); };
  CHECK(dict("{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}") == "no error");
  CHECK_THAT(dict("{'descr': '|u1', 'fortran_order': True, 'shape': (3,)}"), Catch::Contains("ascontiguousarray"));
  CHECK_THAT(dict("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"), Catch::Contains("element type '<f4'"));
  CHECK_THAT(dict("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}"), Catch::Contains("'|O'"));
  CHECK_THAT(dict("{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (3,)}"), Catch::Contains("structures"));
  CHECK_THAT(dict("{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}"), Catch::Contains("truncated"));
  CHECK_THAT(dict("{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}"),
             Catch::Contains("declares 2 bytes of elements, the file contains 3"));
  CHECK_THAT(dict("{'descr': '|u1', 'fortran_order': False, 'shape': (0,)}"), Catch::Contains("is 0"));
  CHECK_THAT(dict("{'descr': '|u1', 'fortran_order': False, 'shape': (-3,)}"), Catch::Contains("shape"));
  CHECK_THAT(dict("{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999999999,)}"),
             Catch::Contains("truncated"));
  CHECK_THAT(dict("{'descr': '|u1', 'shape': (3,)}"), Catch::Contains("expected a dict of descr"));
  CHECK_THAT(dict("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), 'x': 1}"), Catch::Contains("key 'x'"));
  CHECK_THAT(dict("{'descr': '|u1', 'fortran_order': False, 'shape': (3,)} trailing"),
             Catch::Contains("expected a dict of"));
  CHECK_THAT(error_message([&] { return npy_bytes(npy_file("{}", 0, 9)); }), Catch::Contains("format version 9"));
}

}  // namespace
}  // namespace unstarve
