#include "unstarve/storage/formats/folder/manifest.h"

#include <catch2/catch.hpp>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/byte_text.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder, testing::text_of;
using Lines = std::vector<std::string>;

// "path|label|split" for each row, "!line problem" for an invalid row.
Lines rows(const std::string& text, const ManifestColumns& columns = {}) {
  const std::optional<ManifestKind> kind = manifest_kind(text, columns);
  if (!kind) return {"no manifest"};
  Lines lines;
  parse_manifest(*kind, text, columns, [&](const ManifestRow& row) {
    lines.push_back(row.problem.empty() ? row.path + "|" + row.label + "|" + row.split
                                        : "!" + std::to_string(row.line) + " " + row.problem);
  });
  return lines;
}

TEST_CASE("common variants of CSV are read") {
  CHECK(rows("path,label,split\na.jpg,1,train\nb.jpg,2,val\n") == Lines{"a.jpg|1|train", "b.jpg|2|val"});
  CHECK(rows("\xEF\xBB\xBF"
             "Class;x;File_Name\r\ncat;;a.jpg\r\n\r\n") == Lines{"a.jpg|cat|"});
  CHECK(rows("img\tcls\na b.jpg\tbig cat\n") == Lines{"a b.jpg|big cat|"});
  CHECK(rows("path,label\n\"a,\"\"b\"\".jpg\",\"two\nlines\"\nc.jpg,3") ==
        Lines{"a,\"b\".jpg|two\nlines|", "c.jpg|3|"});
  CHECK(rows("a.jpg,cat\nb.png,dog\n") == Lines{"a.jpg|cat|", "b.png|dog|"});
  CHECK(rows("a.JPEG") == Lines{"a.JPEG||"});
  CHECK(rows("path\na.jpg\n") == Lines{"a.jpg||"});
  CHECK(rows("id,photo,kind\n7,a.jpg,x\n", {"photo", "kind"}) == Lines{"a.jpg|x|"});
  CHECK(rows("path,label\na.jpg,1\n", {"", "none"}) == Lines{"a.jpg||"});
  CHECK(rows("path, label ,split\na.jpg, 2 , val\nb.jpg, \"two, three\",\n") ==
        Lines{"a.jpg|2|val", "b.jpg|two, three|"});
  CHECK(rows("path\tlabel\na.jpg\t\n") == Lines{"a.jpg||"});
  CHECK(rows("path,label\n a.jpg ,1\n\" b.jpg\",2\n \t,3\n") ==
        Lines{"a.jpg|1|", " b.jpg|2|", "!4 no path (2 fields)"});
  CHECK(rows("path,label\r\n \"a\" ,1\r\n\" b \"\t, c \r\n") == Lines{"a|1|", " b |c|"});
  CHECK(rows(" a.jpg , cat\n") == Lines{"a.jpg|cat|"});
  CHECK(rows(R"({"path": "a.jpg", "label": " 2"})") == Lines{"a.jpg|2|"});
  CHECK(rows("hello world\n") == Lines{"no manifest"});
  CHECK(rows("") == Lines{"no manifest"});
}

TEST_CASE("the first row of JSON lines may be long") {
  const TemporaryFolder folder;
  folder.write("a.jpg", "x");
  for (const std::size_t bytes : {std::size_t{4000}, std::size_t{5000}, std::size_t{100'000}}) {
    folder.write("list.jsonl", R"({"caption": ")" + std::string(bytes, 'c') + R"(", "path": "a.jpg", "label": 1})" +
                                   "\n" + R"({"path": "a.jpg", "label": 0})");
    CHECK(open_dataset(folder.str("list.jsonl"))->size() == 2);
  }
}

TEST_CASE("an invalid row is reported with its line; the other rows are read") {
  CHECK(rows("path,label\na.jpg,1\n\"b.jpg,2\nc.jpg,3\n,4\nd.jpg\n") ==
        Lines{"a.jpg|1|", "!3 a quote is not closed", "c.jpg|3|", "!5 no path (2 fields)", "d.jpg||"});
  CHECK(rows("{\"path\": \"a.jpg\", \"label\": 1}\n\n{\"path\": 7}\nnothing\n{\"path\": \"b.jpg\", \"label\": [1]}\n"
             "{\"File\": \"c.jpg\", \"class\": \"cat\", \"split\": \"val\"}") ==
        Lines{"a.jpg|1|", "!3 no path (a string under the key 'path')", "!4 not a JSON object", "b.jpg|[1]|",
              "c.jpg|cat|val"});
}

TEST_CASE("an empty path is a missing path") {
  CHECK(rows("{\"path\": \"a.jpg\"}\n{\"path\": \"\"}\n")[1] == "!2 no path (a string under the key 'path')");
}

TEST_CASE("a truncated manifest keeps the rows before the cut") {
  const std::string text = "path,label\n\"a,1.jpg\",1\n\"b\n2.jpg\",2\nc.jpg,3\n";
  const Lines whole = rows(text);
  REQUIRE(whole.size() == 3);
  for (std::size_t length = 11; length < text.size(); ++length) {
    const Lines lines = rows(text.substr(0, length));
    for (std::size_t i = 0; i + 1 < lines.size() && i < whole.size() && lines[i][0] != '!'; ++i)
      CHECK(lines[i] == whole[i]);
  }
}

TEST_CASE("rows with unclosed quotes are parsed in linear time") {
  std::string text = "path,label\n";
  for (int i = 0; i < 20000; ++i) text += "a\",\"b\n";  // each quote is closed by one in a later row
  CHECK(rows(text + "\"").size() > 1);
}

TEST_CASE("a manifest passes the conformance suite") {
  const bool json = GENERATE(false, true);
  const TemporaryFolder folder;
  testing::DatasetUnderTest test;
  test.make = [&](std::uint64_t samples) {
    std::string text = json ? "" : "path,label\n";
    for (std::uint64_t i = 0; i < samples; ++i) {
      const std::string path = "images/" + std::to_string(i) + ".jpg", label = "class " + std::to_string(i % 3);
      folder.write(path, "image " + std::to_string(i));
      text += json ? "{\"path\": \"" + path + "\", \"label\": \"" + label + "\"}\n" : path + "," + label + "\n";
    }
    folder.write("list", text);
    return open_dataset(folder.str("list"));
  };
  test.damage = [&](std::uint64_t id) {
    folder.write("images/" + std::to_string(id) + ".jpg", "");
    return folder.str("images/" + std::to_string(id) + ".jpg") + " (" + folder.str("list") + " row " +
           std::to_string(id) + "): the file is empty";
  };
  testing::check_dataset(test);
}

std::string why(const Dataset& data, std::uint64_t id) {
  RecordBuffer record;
  return testing::error_message([&] {
    data.read(id, record);
    return 0;
  });
}

TEST_CASE("relative paths that leave the folder are rejected; absolute paths are accepted") {
  const TemporaryFolder folder;
  folder.write("outside.jpg", "outside");
  folder.write("set/a.jpg", "inside");
  folder.write("set/list.csv",
               "path,label\na.jpg,0\n../outside.jpg,1\n" + folder.str("outside.jpg") + ",2\nx/../a.jpg,0\n");
  const auto data = open_dataset(folder.str("set/list.csv"));
  RecordBuffer record;
  data->read(0, record);
  CHECK(text_of(record.values[0].bytes) == "inside");
  CHECK_THAT(why(*data, 1), Catch::Contains("list.csv record 1: line 3: the path '../outside.jpg' leaves the folder"));
  data->read(2, record);
  CHECK(text_of(record.values[0].bytes) == "outside");
  CHECK_THAT(why(*data, 3), Catch::Contains("leaves the folder"));

  folder.write("set/list.csv", "path\noutside.jpg\n");
  open_dataset(folder.str("set/list.csv#root=" + folder.str()))->read(0, record);
  CHECK(text_of(record.values[0].bytes) == "outside");
}

TEST_CASE("labels are class numbers if all of them are integers, otherwise names") {
  const TemporaryFolder folder;
  folder.write("a.jpg", "x");
  const auto open = [&](const std::string& text, const std::string& options = "") {
    folder.write("list.csv", text);
    return open_dataset(folder.str("list.csv") + options);
  };
  const auto label = [](const Dataset& data, std::uint64_t id) {
    RecordBuffer record;
    data.read(id, record);
    return record.values.at(1).integer;
  };
  const auto numbers = open("path,label\na.jpg,2\na.jpg,0\na.jpg,-1\na.jpg,\n");
  CHECK(numbers->classes() == Lines{"0", "1", "2"});
  CHECK(label(*numbers, 0) == 2);
  CHECK_THAT(why(*numbers, 2), Catch::Contains("label -1 is not a class number"));
  CHECK_THAT(why(*numbers, 3), Catch::Contains("no label, although other rows have one"));
  const auto names = open("path,label\na.jpg,dog\na.jpg,7\na.jpg,cat\n");
  CHECK(names->classes() == Lines{"7", "cat", "dog"});
  CHECK(label(*names, 0) == 2);
  CHECK(open("path,score\na.jpg,1\n")->fields().size() == 1);
  CHECK(open("path,score\na.jpg,1\n")->missing_labels() == "the columns path, score");
  CHECK(open("path,label\na.jpg,1\n", "#label=none")->fields().size() == 1);
  CHECK(open("path,label\na.jpg,1\n", "#label=none")->missing_labels().empty());
}

TEST_CASE("floats and lists are not classes") {
  const TemporaryFolder folder;
  const auto missing = [&](const std::string& text, const std::string& file = "list.csv") {
    folder.write(file, text);
    const auto data = open_dataset(folder.str(file));
    CHECK(data->fields().size() == 1);
    CHECK(data->classes().empty());
    return data->missing_labels();
  };
  const std::string list = folder.str("list.csv");
  CHECK(missing("path,label\na.jpg,0.25\nb.jpg,1\n") == "the float 0.25 in " + list + " line 2");
  CHECK(missing("path,label\na.jpg,cat\nb.jpg,-1e-3\n") == "the float -1e-3 in " + list + " line 3");
  CHECK(missing("path,label\na.jpg,1 5\n") == "several values: 1 5 in " + list + " line 2");
  CHECK(missing("path,label\na.jpg,cat|dog\n") == "several values: cat|dog in " + list + " line 2");
  CHECK(missing("path,label\na.jpg,\"[1, 5]\"\n") == "several values: [1, 5] in " + list + " line 2");
  CHECK(missing("{\"path\": \"a.jpg\", \"label\": [1, 2]}\n", "list.jsonl") ==
        "several values: [1,2] in " + folder.str("list.jsonl") + " line 1");
  CHECK(open_dataset(list + "#classes=names")->classes() == Lines{"[1, 5]"});
  // Names may contain blanks, commas and digits.
  folder.write("list.csv", "path,label\na.jpg,\"tench, Tinca tinca\"\nb.jpg,B-52\nc.jpg,v 1.0\n");
  CHECK(open_dataset(list)->classes() == Lines{"B-52", "tench, Tinca tinca", "v 1.0"});
  // Booleans are 0 and 1.
  folder.write("list.jsonl", "{\"path\": \"a.jpg\", \"label\": true}\n");
  CHECK(open_dataset(folder.str("list.jsonl"))->known_label(0) == 1);
}

TEST_CASE("one name among numeric labels is rejected with its line instead of renumbering the classes") {
  const TemporaryFolder folder;
  folder.write("a.jpg", "x");
  std::string text = "path,label,split\n";
  for (int label = 0; label <= 10; ++label) text += "a.jpg," + std::to_string(label) + ",train\n";
  folder.write("list.csv", text + "a.jpg,1l,val\n");
  const std::string list = folder.str("list.csv");
  for (const char* const split : {"", "train"}) {
    CHECK_THAT(testing::error_message([&] { return open_dataset(list, split); }),
               Catch::Contains("open " + list + ": the label is a class number in 11 rows and a name in 1 (first: " +
                               list + " line 13: '1l'); expected numbers only or names only"));
  }
  CHECK(open_dataset(list + "#classes=names")->classes() ==
        Lines{"0", "1", "10", "1l", "2", "3", "4", "5", "6", "7", "8", "9"});
  CHECK_THAT(testing::error_message([&] { return open_dataset(list + "#classes=many"); }, ErrorKind::kArgument),
             Catch::Contains("option classes is 'many'; expected names"));

  // Blanks after commas and trailing decimal points do not turn numbers into names.
  folder.write("list.csv", "path, label\na.jpg, 2\na.jpg, 10.0\na.jpg, 0.\n");
  const auto numbers = open_dataset(list);
  CHECK(numbers->classes().size() == 11);
  CHECK(numbers->known_label(0) == 2);
  CHECK(numbers->known_label(1) == 10);
  CHECK(numbers->known_label(2) == 0);
}

TEST_CASE("a requested label column that does not exist is rejected with the list of columns") {
  const TemporaryFolder folder;
  folder.write("a.jpg", "x");
  const auto rejected = [&](const std::string& text) {
    return testing::error_message([&] { return open_dataset(folder.str(text)); }, ErrorKind::kArgument);
  };
  folder.write("list.csv", "path, kind\na.jpg,1\n");
  CHECK_THAT(rejected("list.csv#label=kin"),
             Catch::Contains(folder.str("list.csv") +
                             ": no column 'kin' for the label; available: path, kind. Use #label=none"));
  CHECK(open_dataset(folder.str("list.csv#label=kind"))->known_label(0) == 1);
  folder.write("more.csv", "path;label\na.jpg;1\n");
  CHECK_THAT(rejected("{list,more}.csv#label=kind"), Catch::Contains("more.csv: no column 'kind'"));
  CHECK_THAT(rejected("more.csv#label=foo"), Catch::Contains("available: path, label"));

  folder.write("list.jsonl", "{\"path\": \"a.jpg\", \"text\": 3}\n{\"path\": \"a.jpg\", \"kind\": 3}\n");
  CHECK_THAT(rejected("list.jsonl#label=foo"), Catch::Contains("no column 'foo' for the label; available: path, text"));
  CHECK(open_dataset(folder.str("list.jsonl#label=kind"))->known_label(1) == 3);
  folder.write("none.csv", "a.jpg,cat\n");
  CHECK(open_dataset(folder.str("none.csv#label=none"))->fields().size() == 1);
}

TEST_CASE("all splits of a manifest have the same class numbers") {
  TemporaryFolder folder;
  folder.write("a.jpg", "x");
  folder.write("names.csv",
               "path,label,split\na.jpg,newt,train\na.jpg,cat,train\na.jpg,newt,val\na.jpg,eft,val\na.jpg,,test\n");
  const auto label_of = [&](const std::string& list, const char* split, std::uint64_t id) {
    RecordBuffer record;
    open_dataset(folder.str(list), split)->read(id, record);
    return record.values.at(1).integer;
  };
  const std::vector<std::string> all{"cat", "eft", "newt"};
  CHECK(open_dataset(folder.str("names.csv"), "train")->classes() == all);
  CHECK(open_dataset(folder.str("names.csv"), "val")->classes() == all);
  CHECK(label_of("names.csv", "train", 0) == 2);
  CHECK(label_of("names.csv", "train", 1) == 0);
  CHECK(label_of("names.csv", "val", 0) == 2);
  CHECK(label_of("names.csv", "val", 1) == 1);
  // The images of a split without labels can be read.
  const auto unlabelled = open_dataset(folder.str("names.csv"), "test");
  CHECK(unlabelled->fields().size() == 1);
  CHECK(unlabelled->classes().empty());
  RecordBuffer record;
  unlabelled->read(0, record);
  // Numbers in one split and names in another are names in both; numbers reach the largest of the file.
  folder.write("mixed.csv", "path,label,split\na.jpg,7,val\na.jpg,cat,train\n");
  CHECK(open_dataset(folder.str("mixed.csv"), "val")->classes() == std::vector<std::string>{"7", "cat"});
  folder.write("numbers.csv", "path,label,split\na.jpg,1,val\na.jpg,3,train\n");
  CHECK(open_dataset(folder.str("numbers.csv"), "val")->classes().size() == 4);
  CHECK(label_of("numbers.csv", "val", 0) == 1);
}

TEST_CASE("rows are selected by the split column") {
  const TemporaryFolder folder;
  folder.write("a.jpg", "x");
  folder.write("list.csv", "path,label,split\na.jpg,0,train\na.jpg,1,val\na.jpg,1,val\n");
  CHECK(open_dataset(folder.str("list.csv"))->size() == 3);
  CHECK(open_dataset(folder.str("list.csv"), "val")->size() == 2);
  CHECK_THAT(testing::error_message([&] { return open_dataset(folder.str("list.csv"), "test"); }, ErrorKind::kArgument),
             Catch::Contains("no row of the split 'test'; available: train, val"));
}

TEST_CASE("manifests of a glob or a brace range are one dataset with common splits and classes") {
  const TemporaryFolder folder;
  for (const char* const image : {"a/1.jpg", "a/2.jpg", "b/1.jpg"}) folder.write(image, std::string("image ") + image);
  folder.write("a/list.csv", "path,label,split\n1.jpg,dog,train\n2.jpg,cat,val\n");
  folder.write("b/list.csv", "label,path,split\ncat,1.jpg,train\nant,gone.jpg,test\n");
  for (const char* const text : {"*/list.csv", "{a,b}/list.csv"}) {
    const auto data = open_dataset(folder.str(text));
    CHECK(data->size() == 4);
    CHECK(data->classes() == Lines{"ant", "cat", "dog"});
    RecordBuffer record;
    data->read(2, record);
    CHECK(text_of(record.values[0].bytes) == "image b/1.jpg");
    CHECK(record.values[1].integer == 1);
    CHECK(data->record_location(2).list == folder.str("b/list.csv"));
    CHECK(data->record_location(2).number == 0);
    CHECK_THAT(testing::error_message([&] { data->read(3, record); }, ErrorKind::kInput),
               Catch::Contains(folder.str("b/gone.jpg")));
  }
  CHECK(open_dataset(folder.str("*/list.csv"), "train")->size() == 2);
  CHECK(open_dataset(folder.str("*/list.csv"), "test")->size() == 1);  // a split of only one of the files
  folder.write("lines-0.jsonl", R"({"path": "a/1.jpg", "label": 4})");
  folder.write("lines-1.jsonl", "");
  folder.write("lines-2.jsonl", R"({"path": "b/1.jpg", "label": 0})");
  const auto lines = open_dataset(folder.str("lines-{0..2}.jsonl"));
  CHECK(lines->size() == 2);
  CHECK(lines->classes().size() == 5);
  CHECK(lines->known_label(1) == 0);
  CHECK(open_dataset(folder.str("{a/list.csv,lines-0.jsonl}#label=none"))->size() == 3);
}

TEST_CASE("a file among manifests that is not a manifest is rejected by name") {
  const TemporaryFolder folder;
  folder.write("a.csv", "path,label\n1.jpg,1\n");
  folder.write("b.csv", "hello world\n");
  const std::string why = testing::error_message([&] { return open_dataset(folder.str("{a,b}.csv")); });
  CHECK_THAT(why,
             Catch::Contains("open " + folder.str("{a,b}.csv") + ": " + folder.str("b.csv") + " is not a manifest"));
}

}  // namespace
}  // namespace unstarve
