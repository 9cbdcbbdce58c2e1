#include "unstarve/storage/formats/cifar/pickle.h"

#include <catch2/catch.hpp>
#include <string>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

using namespace std::string_literals;
using testing::error_message;
using Kind = PickleValue::Kind;

// Why the pickle with this body, after the header of protocol 2, is rejected.
std::string why(const std::string& body) {
  const std::string bytes = "\x80\x02"s + body;
  return error_message([&] { return Pickle(as_bytes(bytes)).root().kind; });
}

TEST_CASE("dicts, lists, tuples, integers and texts are read") {
  // {"a": [1, -2, 300, True, None], b"b": (70000, "x")}
  const std::string bytes =
      "\x80\x04\x95\x10\0\0\0\0\0\0\0"
      "}\x94(\x8c\x01"
      "a\x94](K\x01J\xfe\xff\xff\xffM\x2c\x01\x88Ne"
      "C\x01"
      "b\x8a\x03\x70\x11\x01X\x01\0\0\0x\x86u."s;
  const Pickle pickle(as_bytes(bytes));
  REQUIRE(pickle.root().kind == Kind::kDict);
  const PickleValue* const list = pickle.find("a");
  REQUIRE(list != nullptr);
  REQUIRE(list->items.size() == 5);
  CHECK(pickle.at(list->items[0]).integer == 1);
  CHECK(pickle.at(list->items[1]).integer == -2);
  CHECK(pickle.at(list->items[2]).integer == 300);
  CHECK(pickle.at(list->items[3]).integer == 1);
  CHECK(pickle.at(list->items[4]).kind == Kind::kNone);
  const PickleValue* const tuple = pickle.find("b");
  REQUIRE(tuple != nullptr);
  REQUIRE(tuple->kind == Kind::kTuple);
  CHECK(pickle.at(tuple->items[0]).integer == 70000);
  CHECK(as_text(pickle.at(tuple->items[1]).bytes) == "x");
  CHECK(pickle.find("c") == nullptr);
}

TEST_CASE("integers of any length up to 64 bits keep their sign") {
  const auto integer = [](const std::string& digits) {
    const std::string bytes = "\x80\x02\x8a"s + static_cast<char>(digits.size()) + digits + ".";
    return Pickle(as_bytes(bytes)).root().integer;
  };
  CHECK(integer("") == 0);
  CHECK(integer("\xff") == -1);
  CHECK(integer("\x80\x00"s) == 128);
  CHECK(integer("\xff\xff\xff\xff\xff\xff\xff\x7f") == std::numeric_limits<std::int64_t>::max());
  CHECK_THAT(why("\x8a\x09" + std::string(9, '\1') + "."), Catch::Contains("an integer of 9 bytes"));
}

TEST_CASE("values are shared through the memo, also in cycles") {
  const std::string bytes =
      "\x80\x02]q\x00h\x00"
      "ah\x00"
      "a."s;  // a list that contains itself twice
  const Pickle pickle(as_bytes(bytes));
  REQUIRE(pickle.root().items.size() == 2);
  CHECK(&pickle.at(pickle.root().items[0]) == &pickle.root());
  CHECK_THAT(why("h\x07."), Catch::Contains("an unknown reference at offset 2"));
}

// Pickles that run code when Python loads them.
TEST_CASE("references to Python objects are rejected by name") {
  CHECK_THAT(why("cos\nsystem\nU\x04"
                 "echo\x85R."s),
             Catch::Contains("the Python function os.system, which is not called; expected plain data at offset 20"));
  CHECK_THAT(why("c__builtin__\neval\nU\x01"
                 "1\x85R."s),
             Catch::Contains("__builtin__.eval"));
  CHECK_THAT(why("\x8c\x02os\x8c\x06system\x93)R."s), Catch::Contains("os.system"));
  CHECK_THAT(why("cnumpy.core.multiarray\n_reconstruct\ncos\nsystem\nK\x00\x85U\x01"
                 "b\x87R."s),
             Catch::Contains("an array of another type than numpy.ndarray"));
  for (const char* const opcode : {"i", "o", "\x81", "\x92", "P", "Q", "I1\n", "\x82\x01", "\x97", "\xff"})
    CHECK_THAT(why(opcode), Catch::Contains("which pickles of plain data do not contain at offset 2"));
}

TEST_CASE("bytes of protocol 2 are decoded once") {
  const std::string encode = "c_codecs\nencode\nX\x05\0\0\0a\xc3\xbf\xc2\x80X\x06\0\0\0latin1\x86R."s;
  const std::string bytes = "\x80\x02" + encode;
  const Pickle pickle(as_bytes(bytes));
  CHECK(as_text(pickle.root().bytes) == "a\xff\x80");
  CHECK_THAT(why("c_codecs\nencode\nX\x02\0\0\0\xe2\x82X\x06\0\0\0latin1\x86R."s), Catch::Contains("not Latin-1"));
  CHECK_THAT(why("c_codecs\nencode\nX\x01\0\0\0aX\x05\0\0\0utf-8\x86R."s), Catch::Contains("_codecs.encode"));
  // A short pickle that would decode one text over and over.
  std::string bomb = "c_codecs\nencode\nq\x01X\0\x10\0\0"s + std::string(4096, 'a') + "X\x06\0\0\0latin1\x86q\x02R"s;
  for (int i = 0; i < 100; ++i) bomb += "h\x01h\x02R";
  CHECK_THAT(why(bomb + "."), Catch::Contains("more bytes than the pickle holds"));
}

TEST_CASE("damaged pickles are errors with an offset") {
  CHECK_THAT(error_message([] { return Pickle(as_bytes("}.")).root().kind; }),
             Catch::Contains("not a pickle of protocol 2 to 5"));
  CHECK_THAT(why(""), Catch::Contains("truncated at offset 2"));
  CHECK_THAT(why("}"), Catch::Contains("truncated at offset 3"));
  CHECK_THAT(why("."), Catch::Contains("an operand is missing"));
  CHECK_THAT(why("u."), Catch::Contains("a mark is missing"));
  CHECK_THAT(why("}(K\x01u."), Catch::Contains("a key without a value"));
  CHECK_THAT(why("}(a."), Catch::Contains("an operand is missing"));
  CHECK_THAT(why("T\xff\xff\xff\xff."), Catch::Contains("truncated"));
  CHECK_THAT(why("\x8e\xff\xff\xff\xff\xff\xff\xff\xff."), Catch::Contains("truncated"));
  CHECK_THAT(why("K\x01"
                 "a."),
             Catch::Contains("an operand is missing"));
  CHECK_THAT(why("}K\x01"
                 "a."),
             Catch::Contains("an operand of an unexpected type"));
  CHECK_THAT(why("}K\x01\x85"
                 "b."),
             Catch::Contains("a state for a value that has none"));
  CHECK_THAT(why(std::string(kMaxPickleValues + 1, 'N') + "."), Catch::Contains("more than 2097152 values"));
}

}  // namespace
}  // namespace unstarve
