#include "unstarve/storage/formats/webdataset/webdataset.h"

#include "unstarve/storage/dataset/notice.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/source/source.h"
#include "unstarve/storage/testing/byte_text.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/fixtures_folder.h"
#include "unstarve/storage/testing/tar_text.h"
#include "unstarve/storage/testing/temporary_folder.h"
#include "unstarve/storage/testing/zstd_text.h"

namespace unstarve {
namespace {

using testing::error_message, testing::TarText, testing::TemporaryFolder, testing::text_of;

std::shared_ptr<const Dataset> open_tar(const std::string& path, const std::string& split = "") {
  const Source source = inspect_source(path);
  REQUIRE(recognises_webdataset(source));
  return open_webdataset(source, split);
}

// "image:label" for each record, "!" and the reason for a record that cannot be read.
std::vector<std::string> lines_of(const Dataset& data) {
  std::vector<std::string> lines;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    RecordBuffer record;
    try {
      data.read(id, record);
      lines.push_back(text_of(record.values[0].bytes) +
                      (record.values.size() > 1 ? ":" + std::to_string(record.values[1].integer) : ""));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
      const std::string what = error.what();
      lines.push_back("!" + what.substr(what.find(": ") + 2));
    }
  }
  return lines;
}

using Lines = std::vector<std::string>;

Lines lines_of(const TarText& tar, const std::string& options = "") {
  const TemporaryFolder folder;
  folder.write("x.tar", tar.end());
  return lines_of(*open_tar(folder.str("x.tar") + options));
}

TEST_CASE("WebDataset shards pass the conformance suite") {
  const TemporaryFolder folder;
  int shards = 0;
  std::string file;
  testing::DatasetUnderTest test;
  test.make = [&](std::uint64_t samples) {
    TarText tar;
    for (std::uint64_t i = 0; i < samples; ++i) {
      const std::string key = "s/" + std::to_string(i);
      tar.file(key + ".jpg", "image " + std::to_string(i)).file(key + ".cls", std::to_string(i % 5));
    }
    file = folder.str(std::to_string(shards++) + ".tar");
    folder.write(std::filesystem::path(file).filename().string(), tar.end());
    const Source source = inspect_source(file);
    return open_webdataset(source, "");
  };
  test.damage = [&](std::uint64_t id) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(id * 2048 + 20));
    stream.put('!');
    REQUIRE(stream.flush());
    return file + " s/" + std::to_string(id) + " record " + std::to_string(id) + " at offset " +
           std::to_string(id * 2048) + ": the header of the image has changed";
  };
  // make() uses a new file name each time; `fixed` reuses one name, so that locations can be compared.
  testing::check_records(*test.make(1), 1);
  CHECK_THROWS_AS(test.make(0), Error);
  const auto fixed = [&](std::uint64_t samples) {
    shards = static_cast<int>(samples);
    std::filesystem::remove(folder.str(std::to_string(shards) + ".tar"));  // not truncated: it may still be mapped
    return test.make(samples);
  };
  testing::check_dataset({fixed, test.damage});
}

TEST_CASE("shards written by the webdataset package are read, with labels in every form") {
  for (const char* const name : {"cls.tar", "json.tar", "txt.tar", "cls.tar.gz", "cls.tar.zst", "frames.tar.zst",
                                 "ustar.tar", "gnu.tar", "pax.tar"}) {
    INFO(name);
    const TemporaryFolder folder;  // a copy, so that no index is written next to the fixtures
    folder.write(name, testing::fixture_bytes("webdataset/" + std::string(name)));
    const auto data = open_tar(folder.str(name));
    REQUIRE(data->size() == 5);
    const bool named = std::string(name) == "txt.tar";
    if (named) CHECK(data->classes() == std::vector<std::string>{"one", "two", "zero"});
    for (std::uint64_t id = 0; id < 5; ++id) {
      RecordBuffer record;
      data->read(id, record);
      CHECK(text_of(record.values[0].bytes) == testing::fixture_image(id));
      const auto label = static_cast<std::size_t>(record.values[1].integer);
      const auto expected = static_cast<std::size_t>(testing::kFixtureLabels[id]);
      CHECK(data->classes().at(label) == (named ? testing::kFixtureNames[expected] : std::to_string(expected)));
    }
    const auto* const files = dynamic_cast<const RecordFiles*>(data.get());
    REQUIRE(files != nullptr);
    CHECK(files->known_size(0) == Size{16, 12});
  }
}

TEST_CASE("the image of a plain shard is a zero-copy view") {
  const TemporaryFolder folder;
  folder.write("a.tar", TarText().file("0.jpg", "x").file("0.cls", "0").end());
  const auto data = open_tar(folder.str("a.tar"));
  RecordBuffer record;
  data->read(0, record);
  CHECK(record.storage.capacity() == 0);
}

TEST_CASE("members are grouped and selected as documented") {
  TarText tar;
  tar.file("__meta__", "{}").file("README", "x").file(".hidden.jpg", "x");
  tar.file("a/0.seg.PNG", "mask").file("a/0.JPG", "zero").file("a/0.cls", " 3\n").file("a/0.json", "{\"label\": 9}");
  tar.file("b/0.left.jpg", "left").file("b/0.right.jpg", "right").file("b/0.json", R"({"cls": 1, "x": {"y": 2}})");
  CHECK(lines_of(tar) == Lines{"zero:3", "left:1"});
  CHECK(lines_of(tar, "#image=right.jpg,label=json/cls")[1] == "right:1");
  CHECK_THAT(lines_of(tar, "#image=right.jpg,label=json/cls")[0],
             Catch::Contains("sample 'a/0': no image (right.jpg); available: seg.png, jpg, cls, json"));
  CHECK(lines_of(tar, "#label=none") == Lines{"zero", "left"});
  CHECK_THAT(lines_of(tar, "#label=json/label")[1], Catch::Contains("member 'json': key 'label' is missing"));
}

TEST_CASE("images whose names have dots are not lost silently") {
  TarText tar;
  for (const char* const name : {"img_0.5_0", "img_0.5_1", "img_0.5_2"})
    tar.file(name + std::string(".jpg"), name).file(name + std::string(".cls"), "1");
  tar.file("img_1.jpg", "one").file("img_1.cls", "0");
  const Lines lines = lines_of(tar);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Catch::Contains("sample 'img_0': 3 images (5_0.jpg, 5_1.jpg, ...) have this name up to its "
                                       "first dot, after which the extension begins") &&
                           Catch::Contains("#image=5_0.jpg"));
  CHECK(lines[1] == "one:0");
  CHECK(lines_of(TarText().file("0.5_0.jpg", "zero").file("1.5_0.jpg", "one")) == Lines{"zero", "one"});
  CHECK(lines_of(TarText().file("0.1.jpg", "a").file("0.2.jpg", "b").file("0.jpg", "c")) == Lines{"c"});
  CHECK(lines_of(TarText().file("0.1.jpg", "a").file("0.2.jpg", "b"), "#image=2.jpg") == Lines{"b"});

  std::string notices;
  set_notice_sink([&](const std::string& text) { notices += text + "\n"; });
  CHECK(lines_of(TarText().file("Dr.A.jpg", "a").file("Dr.B.jpg", "b").file("0.l.jpg", "l").file("0.r.jpg", "r")) ==
        Lines{"a", "l"});
  CHECK(lines_of(TarText().file("0.0.png", "a").file("0.1.png", "b").file("0.cls", "1")) == Lines{"a:1"});
  set_notice_sink({});
  CHECK_THAT(notices, Catch::Contains("sample '0': found 2 images (0.png, 1.png), of which the first is read"));
  notices.resize(notices.find('\n') + 1);
  CHECK(
      notices ==
      "open webdataset: sample 'Dr': found 2 images (a.jpg, b.jpg), of which the first is read; expected one, because "
      "a sample is named by the text up to the first dot. Choose an image with #image=a.jpg.\n");
}

TEST_CASE("several images per sample are one notice for all shards") {
  const TemporaryFolder folder;
  for (const std::string name : {"a", "b", "c"})
    folder.write(name + ".tar", TarText().file(name + ".l.jpg", "l").file(name + ".r.jpg", "r").end());
  int notices = 0;
  set_notice_sink([&](const std::string& text) { notices += text.find("found 2 images") != text.npos ? 1 : 0; });
  CHECK(open_tar(folder.str("{a,b,c}.tar"))->size() == 3);
  set_notice_sink({});
  CHECK(notices == 1);
}

TEST_CASE("JSON may have the constants of Python; what is not JSON is damage, not replaced by a caption") {
  CHECK(lines_of(TarText().file("0.jpg", "a").file("0.json", R"({"score": NaN, "label": 2})")) == Lines{"a:2"});
  for (const bool first : {true, false}) {
    TarText tar = TarText().file("1.jpg", "b").file("1.json", R"({"label": 7})").file("0.jpg", "a");
    if (first) tar.file("0.json", "{");
    tar.file("0.txt", "a cat");
    if (!first) tar.file("0.json", "{");
    const Lines lines = lines_of(tar);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "b:7");
    CHECK_THAT(lines[1], Catch::Contains("member 'json': not JSON"));
    CHECK(lines_of(tar.file("0.cls", "3")) == Lines{"b:7", "a:3"});
  }
  TarText good = TarText().file("0.jpg", "a").file("0.json", R"({"label": 1})");
  CHECK(lines_of(good.file("1.jpg", "b").file("1.json", "{").file("1.txt", "2"), "#label=json")[0] == "a:1");
}

TEST_CASE("Booleans in JSON are class numbers") {
  const TarText tar = TarText()
                          .file("0.jpg", "a")
                          .file("0.json", R"({"label": true})")
                          .file("1.jpg", "b")
                          .file("1.json", R"({"label": false})");
  CHECK(lines_of(tar) == Lines{"a:1", "b:0"});
  CHECK(lines_of(tar, "#label=json/label") == Lines{"a:1", "b:0"});
}

TEST_CASE("several numbers in one label are no class, also on lines of their own") {
  const TemporaryFolder folder;
  folder.write("x.tar", TarText().file("0.jpg", "a").file("0.cls", "1\n5\n7\n").end());
  const auto data = open_tar(folder.str("x.tar"));
  CHECK(data->missing_labels() == "the member 'cls': several values: 1 5 7");
  CHECK(lines_of(*data) == Lines{"a"});
}

TEST_CASE("strings of JSON are names if one of them is no number, in any shard") {
  const auto labelled = [](const std::string& first, const std::string& second) {
    return TarText().file("0.jpg", "a").file("0.json", first).file("1.jpg", "b").file("1.json", second);
  };
  const TemporaryFolder folder;
  folder.write("digits.tar", labelled(R"("7")", R"("2")").end());
  folder.write("letters.tar", labelled(R"("A")", R"("0")").end());
  folder.write("numbers.tar", labelled("7", R"("2")").end());
  CHECK(lines_of(*open_tar(folder.str("digits.tar"))) == Lines{"a:7", "b:2"});
  CHECK(open_tar(folder.str("digits.tar"))->classes().size() == 8);
  CHECK(lines_of(*open_tar(folder.str("letters.tar"))) == Lines{"a:1", "b:0"});
  const Lines large = lines_of(labelled(R"("10")", R"("99999999")"));
  CHECK(large[0] == "a:10");
  CHECK_THAT(large[1], Catch::Contains("label 99999999 is not a class number"));
  CHECK(lines_of(*open_tar(folder.str("numbers.tar"))) == Lines{"a:7", "b:2"});
  CHECK(lines_of(*open_tar(folder.str("{digits,numbers}.tar"))) == Lines{"a:7", "b:2", "a:7", "b:2"});
  const auto both = open_tar(folder.str("{digits,letters}.tar"));
  CHECK(both->classes() == std::vector<std::string>{"0", "2", "7", "A"});
  CHECK(lines_of(*both) == Lines{"a:2", "b:1", "a:3", "b:0"});
  CHECK_THAT(error_message([&] { return open_tar(folder.str("{letters,numbers}.tar")); }),
             Catch::Contains("Use #classes=names to read all labels as names"));
  CHECK(open_tar(folder.str("{letters,numbers}.tar#classes=names"))->classes() ==
        std::vector<std::string>{"0", "2", "7", "A"});
}

TEST_CASE("labels of .cls that are numbers and names require an option") {
  const TarText tar = TarText().file("0.jpg", "a").file("0.cls", "7\n").file("1.jpg", "b").file("1.cls", "A");
  CHECK_THAT(error_message([&] { return lines_of(tar); }),
             Catch::Contains("others only a name ('A'); expected the same for all. Use #classes=names to read"));
  CHECK(lines_of(tar, "#classes=names") == Lines{"a:0", "b:1"});
  CHECK_THAT(error_message([&] { return lines_of(tar, "#classes=numbers"); }, ErrorKind::kArgument),
             Catch::Contains("option classes is 'numbers'; expected names"));
}

TEST_CASE("an archive of CIFAR is not taken for shards") {
  const TemporaryFolder folder;
  folder.write("cifar-10-python.tar", TarText().file("cifar-10-batches-py/data_batch_4", "x").end());
  CHECK_THAT(error_message([&] { return open_tar(folder.str("cifar-10-python.tar")); }),
             Catch::Contains("found an archive of CIFAR; expected its folder. Unpack it with `tar xf`"));
}

TEST_CASE("a sample whose image or label is a link is damaged by that name") {
  TarText tar;
  tar.file("0.jpg", "zero").file("0.cls", "0");
  tar.file("1.jpg", "", '2').file("1.cls", "1");
  tar.file("2.jpg", "two").file("2.cls", "", '1');
  tar.file("3.jpg", "three").file("3.cls", "3").file("3.depth.bin", "", '2');
  tar.file("notes.md", "", '2');
  const Lines lines = lines_of(tar);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == "zero:0");
  CHECK_THAT(lines[1], Catch::Contains("sample '1': member 'jpg' is a symbolic link, which is not followed; expected a "
                                       "file. Create the archive with tar --dereference"));
  CHECK_THAT(lines[2], Catch::Contains("sample '2': member 'cls' is a hard link"));
  CHECK(lines[3] == "three:3");
  CHECK(lines_of(tar, "#label=none")[2] == "two");
}

TEST_CASE("a requested label that no sample has is rejected with the list of members") {
  const auto rejected = [](const TarText& tar, const std::string& options) {
    const TemporaryFolder folder;
    folder.write("x.tar", tar.end());
    return error_message([&] { return open_tar(folder.str("x.tar") + options); }, ErrorKind::kArgument);
  };
  TarText tar;
  tar.file("__meta__", "{}").file("0.jpg", "a").file("0.cls", "3").file("0.Seg.png", "m").file("1.jpg", "b");
  for (const char* const label : {"foo", "json/foo"}) {
    CHECK_THAT(rejected(tar, std::string("#label=") + label),
               Catch::Contains("x.tar#label=" + std::string(label) + ": no sample has a label in '" + label +
                               "'; members of the first sample: jpg, cls, Seg.png. Use json/NAME for a key of a .json "
                               "member, or #label=none"));
  }
  // One sample with the label is enough: the others are damaged records.
  CHECK(lines_of(tar, "#label=cls")[0] == "a:3");
  const TarText json = TarText().file("0.jpg", "a").file("0.json", R"({"kind": 1, "x": 2})");
  const std::string why = error_message([&] { return lines_of(json, "#label=json/foo"); });
  CHECK_THAT(why, Catch::Contains("key 'foo' is missing, or no integer, Boolean or string; available: kind, x"));
  const TemporaryFolder folder;
  folder.write("cls.tar.gz", testing::fixture_bytes("webdataset/cls.tar.gz"));
  CHECK_THAT(error_message([&] { return open_tar(folder.str("cls.tar.gz#label=foo")); }, ErrorKind::kArgument),
             Catch::Contains("members of the first sample: "));
}

TEST_CASE("short texts are classes, captions are not") {
  CHECK(lines_of(TarText().file("0.jpg", "a").file("0.txt", "cat\n").file("1.jpg", "b").file("1.txt", "ant")) ==
        Lines{"a:1", "b:0"});
  CHECK(lines_of(TarText().file("0.jpg", "a").file("0.txt", "7").file("1.jpg", "b").file("1.txt", "0")) ==
        Lines{"a:7", "b:0"});
  CHECK(lines_of(TarText().file("0.jpg", "a").file("0.txt", std::string(200, 'c'))) == Lines{"a"});
  CHECK(lines_of(TarText().file("0.jpg", "a").file("1.jpg", "b")) == Lines{"a", "b"});
}

TEST_CASE("an invalid sample is reported and its neighbours are read") {
  const auto middle = [](const TarText& broken) {
    const TemporaryFolder folder;
    folder.write("x.tar", TarText().file("0.jpg", "a").file("0.cls", "0").text() + broken.text() +
                              TarText().file("9.jpg", "z").file("9.cls", "1").end());
    const Lines lines = lines_of(*open_tar(folder.str("x.tar")));
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == "a:0");
    CHECK(lines[2] == "z:1");
    return lines[1];
  };
  CHECK_THAT(middle(TarText().file("5.cls", "1")), Catch::Contains("sample '5': no image"));
  CHECK_THAT(middle(TarText().file("5.jpg", "").file("5.cls", "1")), Catch::Contains("the image is empty"));
  CHECK_THAT(middle(TarText().file("5.jpg", "x").file("5.cls", "")),
             Catch::Contains("member 'cls': neither a class number"));
  CHECK_THAT(middle(TarText().file("5.jpg", "x").file("5.json", "{")), Catch::Contains("not JSON"));
  CHECK_THAT(middle(TarText().file("5.jpg", "x").file("5.JPG", "y")), Catch::Contains("duplicate member 'jpg'"));
  CHECK_THAT(middle(TarText().file("5.jpg", "x").file("5.cls", "99999999")), Catch::Contains("not a class number"));
  CHECK_THAT(middle(TarText().file("5.jpg", "x").file("5.json", R"({"label": 18446744073709551615})")),
             Catch::Contains("not a class number"));
  for (const char* const member : {"5.cls", "5.json", "5.txt"})
    CHECK_THAT(middle(TarText().file("5.jpg", "x").file(member, "-1")),
               Catch::Contains("label -1 is not a class number; expected 0 to 1048575"));
  CHECK_THAT(middle(TarText().file("5.jpg", "x")), Catch::Contains("the record has no class number or name as label"));
  CHECK_THAT(middle(TarText().file("../5.jpg", "x").file("../5.cls", "0")),
             Catch::Contains("leaves the folder through '..'"));
}

TEST_CASE("a damaged header of any member affects only its own sample") {
  TarText tar;
  for (const char* const key : {"0", "1", "2", "3"})
    tar.file(key + std::string(".cls"), "1").file(key + std::string(".jpg"), key);
  const Lines whole = {"0:1", "1:1", "2:1", "3:1"};
  for (std::size_t member = 0; member < 8; ++member) {
    INFO(member);
    std::string bad = tar.end();
    bad[member * 1024 + 30] = '!';
    const TemporaryFolder folder;
    folder.write("x.tar", bad);
    const Source source = inspect_source(folder.str("x.tar"));
    const Lines lines = lines_of(*open_webdataset(source, ""));
    REQUIRE(lines.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      if (i == member / 2)
        CHECK(lines[i] == "!the header checksum is wrong");
      else
        CHECK(lines[i] == whole[i]);
    }
  }
}

TEST_CASE("shards of a folder are one dataset; splits are recognised by name") {
  const TemporaryFolder folder;
  for (const char* const name : {"train-0", "train-1", "val-0"}) {
    folder.write(std::string(name) + ".tar",
                 TarText().file(name + std::string(".jpg"), name).file(name + std::string(".cls"), "0").end());
  }
  folder.write("index.json", "{}");
  CHECK(lines_of(*open_tar(folder.str(), "train")) == Lines{"train-0:0", "train-1:0"});
  CHECK(lines_of(*open_tar(folder.str("train-{1..0}.tar"))) == Lines{"train-1:0", "train-0:0"});
  CHECK_THAT(error_message([&] { return open_tar(folder.str()); }), Catch::Contains("splits train, val"));
  folder.write("fake/x.tar", std::string(2000, 'x'));
  CHECK_FALSE(recognises_webdataset(inspect_source(folder.str("fake"))));
  CHECK_FALSE(recognises_webdataset(inspect_source(folder.str("fake/x.tar"))));
  folder.write("named_otherwise", TarText().file("x^2.jpg", "x").end());  // its first bytes look like zlib
  CHECK(lines_of(*open_tar(folder.str("named_otherwise"))) == Lines{"x"});
}

TEST_CASE("Zstandard shards are one dataset; a truncated shard gives the samples before the cut") {
  const auto shard = [](const std::string& key) {
    return TarText().file(key + "0.jpg", key + "a").file(key + "0.cls", "0").text();
  };
  const TemporaryFolder folder;
  // A frame for each sample, then the end of the archive.
  const std::vector<std::string> frames = {testing::zstandard(shard("x")), testing::zstandard(shard("y")),
                                           testing::zstandard(TarText().end())};
  folder.write("0.tar.zst", frames[0] + frames[1] + frames[2]);
  folder.write("1.tzst", testing::zstandard(shard("z") + TarText().end()));
  CHECK(lines_of(*open_tar(folder.str())) == Lines{"xa:0", "ya:0", "za:0"});
  constexpr std::size_t kMagic = 4;  // fewer bytes are not a stream
  for (std::size_t length = kMagic; length < frames[0].size() + frames[1].size(); ++length) {
    INFO(length);
    const std::string name = "cut" + std::to_string(length);
    folder.write(name + "/1.tar.zst", (frames[0] + frames[1]).substr(0, length));
    folder.write(name + "/0.tar.zst", frames[1] + frames[2]);
    const Lines lines = lines_of(*open_tar(folder.str(name)));  // damage affects only its own shard
    REQUIRE(lines.size() >= 2);
    CHECK(lines[0] == "ya:0");
    CHECK((lines[1] == "xa:0") == (length >= frames[0].size()));
    if (length != frames[0].size()) CHECK_THAT(lines.back(), Catch::Contains("the rest of the shard cannot be read"));
  }
  const auto why = [&](const std::string& stored) {
    folder.write("bad/x.tar.zst", stored);
    const std::string text = error_message([&] { return open_dataset(folder.str("bad")); });
    CHECK(error_message([&] { return open_dataset(folder.str("bad/x.tar.zst")); }).find("x.tar.zst") !=
          std::string::npos);
    return text;
  };
  CHECK_THAT(why(testing::zstandard(shard("x"), {3, 30, false})),
             Catch::Contains("bad/x.tar.zst: the frame at offset 0 needs a window of more than 2^27 bytes"));
  CHECK_THAT(why(frames[0].substr(0, 30)), Catch::Contains("bad/x.tar.zst") && Catch::Contains("ends within a frame"));
}

TEST_CASE("a truncated shard gives the samples before the cut") {
  const TemporaryFolder folder;
  const std::string whole = TarText().file("0.jpg", "a").file("0.cls", "0").file("1.jpg", "b").file("1.cls", "1").end();
  for (std::size_t length = 1024 + 513; length < 4096; length += 101) {
    INFO(length);
    const std::string file = std::to_string(length) + ".tar";
    folder.write(file, whole.substr(0, length));
    const Lines lines = lines_of(*open_tar(folder.str(file)));
    REQUIRE(!lines.empty());
    CHECK(lines[0] == "a:0");
  }
}

TEST_CASE("rejected members are one damaged record per key") {
  TarText tar;
  tar.file("0.jpg", "a").file("0.cls", "0");
  for (const char* const key : {"../1", "/2", "x/../../3"})
    tar.file(key + std::string(".jpg"), "x").file(key + std::string(".cls"), "0");
  tar.file("4.jpg", "e").file("4.cls", "1");
  const Lines lines = lines_of(tar);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == "a:0");
  CHECK_THAT(lines[1], Catch::Contains("'../1.jpg'"));
  CHECK_THAT(lines[2], Catch::Contains("'/2.jpg'"));
  CHECK_THAT(lines[3], Catch::Contains("'x/../../3.jpg'"));
  CHECK(lines[4] == "e:1");
  // A sample that lost a rejected member is part of the damaged record.
  CHECK(lines_of(TarText().file("0.jpg", "a").file("0.cls", "0").file("1.jpg", "b").file("/1.cls", "1")).size() == 2);
}

}  // namespace
}  // namespace unstarve
