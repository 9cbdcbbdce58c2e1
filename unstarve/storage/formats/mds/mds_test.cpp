#include "unstarve/storage/formats/mds/mds.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/byte_text.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/fixtures_folder.h"
#include "unstarve/storage/testing/memory_bytes.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::text_of, testing::TemporaryFolder;

// A shard of samples "<jpeg length><jpeg><label>", and its index.json.
struct MdsText {
  std::string shard;
  std::string index;
  std::vector<std::size_t> begins;
};

MdsText make_mds(const std::vector<std::int64_t>& labels) {
  const std::uint64_t samples = labels.size();
  std::string body;
  MdsText text;
  const std::size_t start = 4 + 4 * (samples + 1) + 2;
  for (std::uint64_t i = 0; i < samples; ++i) {
    text.begins.push_back(start + body.size());
    const std::string image = "image " + std::to_string(i);
    append_little(body, static_cast<std::uint32_t>(image.size()));
    body += image;
    append_little(body, labels[i]);
  }
  append_little(text.shard, static_cast<std::uint32_t>(samples));
  for (const std::size_t begin : text.begins) append_little(text.shard, static_cast<std::uint32_t>(begin));
  append_little(text.shard, static_cast<std::uint32_t>(start + body.size()));
  text.shard += "{}" + body;
  text.index = R"({"version": 2, "shards": [{"format": "mds", "column_names": ["image", "label"],
      "column_encodings": ["jpeg", "int"], "column_sizes": [null, 8], "compression": null, "zip_data": null,
      "samples": )" +
               std::to_string(samples) + R"(, "raw_data": {"basename": "shard.00000.mds", "bytes": )" +
               std::to_string(text.shard.size()) + "}}]}";
  return text;
}

MdsText make_mds(std::uint64_t samples) {
  std::vector<std::int64_t> labels;
  for (std::uint64_t i = 0; i < samples; ++i) labels.push_back(static_cast<std::int64_t>(i % 4));
  return make_mds(labels);
}

TEST_CASE("MDS passes the conformance suite") {
  const TemporaryFolder folder;
  const std::string file = folder.str("shard.00000.mds");
  MdsText text;
  testing::DatasetUnderTest test;
  test.make = [&](std::uint64_t samples) {
    text = make_mds(samples);
    std::filesystem::remove(file);  // not truncated: it may still be mapped
    folder.write("shard.00000.mds", text.shard);
    folder.write("index.json", text.index);
    return open_dataset(folder.str());
  };
  test.damage = [&](std::uint64_t id) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(text.begins[id]));
    stream.put(static_cast<char>(200));
    REQUIRE(stream.flush());
    return file + " record " + std::to_string(id) + " at offset " + std::to_string(text.begins[id]) +
           ": column 'image' declares 200 bytes, the sample contains";
  };
  testing::check_dataset(test);
}

// A copy, so that no index is written next to the fixtures.
std::string copied(const TemporaryFolder& folder, const std::string& name) {
  std::filesystem::copy(testing::fixture(name), folder.path() / name, std::filesystem::copy_options::recursive);
  return folder.str(name);
}

TEST_CASE("files written by the streaming package are read") {
  for (const std::string name : {"mds", "mds-gz", "mds-zstd", "mds-bytes"}) {
    INFO(name);
    const TemporaryFolder folder;
    const std::string path = copied(folder, name);
    const auto data = open_dataset(name.ends_with("z") || name.ends_with("zstd") ? path + "/index.json" : path);
    REQUIRE(data->size() == 5);
    CHECK(data->format() == "mds");
    for (std::uint64_t id = 0; id < 5; ++id) {
      RecordBuffer record;
      data->read(id, record);
      CHECK(text_of(record.values[0].bytes) == testing::fixture_image(id));
      const auto expected = static_cast<std::size_t>(testing::kFixtureLabels[id]);
      CHECK(data->classes().at(static_cast<std::size_t>(record.values[1].integer)) ==
            (name == "mds-bytes" ? testing::kFixtureNames[expected] : std::to_string(expected)));
      CHECK((record.storage.capacity() == 0) == (name == "mds" || name == "mds-bytes"));  // plain shards are not copied
    }
  }
}

TEST_CASE(
    "compressed shards: the plain file is preferred, unknown compressions are rejected, damage affects one shard") {
  const TemporaryFolder folder;
  const std::string path = copied(folder, "mds-zstd");
  const auto image = [&](std::uint64_t id) {
    const auto data = open_dataset(path);
    RecordBuffer record;
    data->read(id, record);
    return text_of(record.values[0].bytes);
  };
  CHECK(image(4) == testing::fixture_image(4));
  const std::string shard = path + "/shard.00001.mds.zstd";
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 5);
  CHECK_THAT(testing::error_message([&] { return image(4); }),
             Catch::Contains("shard.00001.mds.zstd") && Catch::Contains("ends within a frame"));
  CHECK(image(0) == testing::fixture_image(0));
  std::filesystem::copy_file(testing::fixture("mds/shard.00001.mds"), path + "/shard.00001.mds");
  CHECK(image(4) == testing::fixture_image(4));
  std::filesystem::remove(path + "/shard.00001.mds");
  const std::string index = testing::fixture_bytes("mds-zstd/index.json");
  for (const std::string name : {"br", "bz2", "snappy"}) {
    std::string other = index;
    for (std::size_t at = other.find("zstd:7"); at != std::string::npos; at = other.find("zstd:7")) {
      other.replace(at, 6, name + ":4");
    }
    folder.write("mds-zstd/index.json", other);
    CHECK_THAT(testing::error_message([&] { return open_dataset(path); }),
               Catch::Contains("is compressed by " + name + "; expected gz or zstd. Decompress it to shard.0000"));
  }
}

TEST_CASE("values of str are names if one of them is no number, in any shard") {
  const auto shard = [](const std::vector<std::string>& labels) {
    std::string body, text;
    const std::size_t start = 4 + 4 * (labels.size() + 1) + 2;
    append_little(text, static_cast<std::uint32_t>(labels.size()));
    append_little(text, static_cast<std::uint32_t>(start));
    for (const std::string& label : labels) {
      append_little(body, std::uint32_t{1});
      append_little(body, static_cast<std::uint32_t>(label.size()));
      body += "x" + label;
      append_little(text, static_cast<std::uint32_t>(start + body.size()));
    }
    return text + "{}" + body;
  };
  const auto index = [](const std::vector<std::string>& shards) {
    std::string list;
    for (const std::string& name : shards)
      list += std::string(list.empty() ? "" : ", ") +
              R"({"format": "mds", "column_names": ["image", "label"], "column_encodings": ["jpeg", "str"],
              "column_sizes": [null, null], "compression": null, "zip_data": null, "samples": 2,
              "raw_data": {"basename": ")" +
              name + R"(", "bytes": 100}})";
    return R"({"version": 2, "shards": [)" + list + "]}";
  };
  const TemporaryFolder folder;
  folder.write("d/1.mds", shard({"7", "2"}));
  folder.write("d/2.mds", shard({"A", "07"}));
  folder.write("d/index.json", index({"1.mds"}));
  CHECK(open_dataset(folder.str("d"))->known_label(0) == 7);
  CHECK(open_dataset(folder.str("d") + "#classes=names")->classes() == std::vector<std::string>{"2", "7"});
  folder.write("d/index.json", index({"1.mds", "2.mds"}));
  const auto data = open_dataset(folder.str("d"));
  CHECK(data->classes() == std::vector<std::string>{"07", "2", "7", "A"});
  CHECK(data->known_label(0) == 2);
  CHECK(data->known_label(3) == 0);
}

TEST_CASE("raw pixels are read without a copy") {
  const TemporaryFolder folder;
  const auto data = open_dataset(copied(folder, "mds-pil"));
  REQUIRE(data->field_index(FieldKind::kPixels) == 0);
  RecordBuffer record;
  data->read(3, record);
  const PixelView& view = record.values[0].pixels;
  CHECK(view.size() == Size{16, 12});
  CHECK(view.at(15, 11, 0) == 255);
  CHECK(view.at(15, 11, 1) == 255);
  CHECK(view.at(15, 11, 2) == 0);
  CHECK(record.values[1].integer == 2);
  CHECK(record.storage.capacity() == 0);
}

TEST_CASE("columns are selected by rule or by name") {
  const std::vector<MdsColumn> columns = {{"id", "int", 8}, {"photo", "png", 0}, {"raw", "bytes", 0}, {"y", "str", 0}};
  CHECK(choose_mds_fields(columns, "", "").image == 1);
  CHECK(choose_mds_fields(columns, "", "").label == 3);
  CHECK(choose_mds_fields(columns, "raw", "id").image == 2);
  CHECK(choose_mds_fields(columns, "raw", "id").label == 0);
  CHECK(choose_mds_fields(columns, "", "none").label == -1);
  CHECK(choose_mds_fields({{"a", "int", 8}, {"b", "jpeg", 0}}, "", "").label == -1);
  CHECK(choose_mds_fields({{"label", "json", 0}, {"b", "jpeg", 0}, {"y", "int", 8}}, "", "").label == -1);
  const auto why = [&](const std::string& image, const std::string& label) {
    try {
      (void)choose_mds_fields(columns, image, label);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kArgument);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(why("x", ""), Catch::Contains("no column 'x'; available: id (int), photo (png), raw (bytes), y (str)"));
  CHECK_THAT(why("id", ""), Catch::Contains("column 'id' has the encoding int"));
  CHECK_THAT(why("", "x"), Catch::Contains("no column 'x'"));
  CHECK_THAT(why("", "photo"), Catch::Contains("is not a label"));
  CHECK_THAT(testing::error_message([&] {
               return choose_mds_fields({{"text", "str", 0}}, "", "");
             }),
             Catch::Contains("no image column"));
}

TEST_CASE("a truncated shard, or one with a wrong table, gives its intact samples") {
  const MdsText text = make_mds(4);
  const auto format = mds_format({{"image", "jpeg", 0}, {"label", "int", 8}}, {0, 1});
  const auto readable = [&](const std::string& shard) {
    std::size_t good = 0;
    try {
      const RecordFiles data({{"memory", std::make_shared<testing::MemoryBytes>(shard)}}, format, {false, 1});
      for (std::uint64_t id = 0; id < data.size(); ++id) {
        RecordBuffer record;
        try {
          data.read(id, record);
          ++good;
        } catch (const Error& error) {
          CHECK(error.kind() == ErrorKind::kInput);
        }
      }
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
    }
    return good;
  };
  REQUIRE(readable(text.shard) == 4);
  for (std::size_t length = 0; length < text.shard.size(); ++length) {
    std::size_t whole = 0;
    while (whole < 3 && text.begins[whole + 1] <= length) ++whole;
    CHECK(readable(text.shard.substr(0, length)) == whole);
  }
  for (std::size_t at = 4; at < 24; at += 4) {
    std::string wrong = text.shard;
    wrong.replace(at, 4, "\xff\xff\xff\xff");
    const std::size_t good = readable(wrong);
    CHECK(good < 4);
    CHECK((at == 4 || good >= (at - 4) / 4 - 1));  // the samples before the wrong entry
  }
  std::string wrong = text.shard;
  wrong.replace(0, 4, "\xff\xff\xff\xff");
  CHECK(readable(wrong) == 0);
}

TEST_CASE("an MDS folder without samples is rejected; empty shards among others are skipped") {
  const TemporaryFolder folder;
  const auto why = [&] { return testing::error_message([&] { return open_dataset(folder.str()); }); };
  folder.write("index.json", R"({"version": 2, "shards": []})");
  CHECK(why() == "open " + folder.str("index.json") + ": no shard listed; expected at least one");

  const MdsText none = make_mds(0), some = make_mds(3);
  folder.write("shard.00000.mds", none.shard);
  folder.write("index.json", none.index);
  CHECK(why() == "open mds " + folder.str("shard.00000.mds") + ": it holds no record");

  // The entry of the second shard after that of the first.
  const auto renamed = [](std::string text, const std::string& to) {
    text.replace(text.find("shard.00000"), 11, to);
    return text;
  };
  const std::string second = renamed(some.index, "shard.00001");
  const std::size_t entry = second.find("{\"format\"");
  folder.write("shard.00001.mds", some.shard);
  folder.write("index.json", none.index.substr(0, none.index.size() - 2) + "," + second.substr(entry));
  CHECK(open_dataset(folder.str())->size() == 3);
  folder.write("shard.00002.mds", none.shard);
  folder.write("index.json",
               second.substr(0, second.size() - 2) + "," + renamed(none.index, "shard.00002").substr(entry));
  const auto dataset = open_dataset(folder.str());
  CHECK(dataset->size() == 3);
  RecordBuffer record;
  dataset->read(2, record);
  CHECK(text_of(record.values[0].bytes) == "image 2");
}

TEST_CASE("an integer that is not a class number makes its sample a bad sample") {
  const MdsText text = make_mds(std::vector<std::int64_t>{0, -1, -7, std::int64_t{1} << 40, 3});
  const auto format = mds_format({{"image", "jpeg", 0}, {"label", "int", 8}}, {0, 1});
  const RecordFiles data({{"memory", std::make_shared<testing::MemoryBytes>(text.shard)}}, format, {false, 1});
  const auto why = [&](std::uint64_t id) {
    return testing::error_message([&] {
      RecordBuffer record;
      data.read(id, record);
    });
  };
  CHECK_THAT(why(1),
             Catch::Contains("memory") && Catch::Contains("label -1 is not a class number; expected 0 to 104857"));
  CHECK_THAT(why(2), Catch::Contains("label -7 is not a class number"));
  CHECK_THAT(why(3), Catch::Contains("label 1099511627776 is not a class number"));
  CHECK(why(0) == "no error");
  CHECK(data.classes().size() == 4);
}

TEST_CASE("a number in a str column that is not a class number does not turn the other numbers into names") {
  const std::vector<std::string> labels{"0", "2", "10", "-1", "99999999"};
  std::string head, body;
  append_little(head, static_cast<std::uint32_t>(labels.size()));
  for (const std::string& label : labels) {
    append_little(head, static_cast<std::uint32_t>(4 + 4 * (labels.size() + 1) + body.size()));
    append_little(body, std::uint32_t{5});
    append_little(body, static_cast<std::uint32_t>(label.size()));
    body += "image" + label;
  }
  append_little(head, static_cast<std::uint32_t>(4 + 4 * (labels.size() + 1) + body.size()));
  const auto format = mds_format({{"image", "jpeg", 0}, {"label", "str", 0}}, {0, 1});
  const RecordFiles data({{"memory", std::make_shared<testing::MemoryBytes>(head + body)}}, format, {false, 1});
  CHECK(data.classes().size() == 11);
  CHECK(data.known_label(2) == 10);
  const auto why = [&](std::uint64_t id) {
    return testing::error_message([&] {
      RecordBuffer record;
      data.read(id, record);
    });
  };
  CHECK_THAT(why(3), Catch::Contains("label -1 is not a class number"));
  CHECK_THAT(why(4), Catch::Contains("label 99999999 is not a class number"));
}

TEST_CASE("several MDS indexes are one dataset of all their shards") {
  const TemporaryFolder folder;
  const std::string first = copied(folder, "mds"), second = copied(folder, "mds-gz");
  for (const std::string& text : {folder.str("mds{,-gz}/index.json"), folder.str("mds*/index.json")}) {
    const auto data = open_dataset(text);
    const std::vector<testing::RecordCopy> records = testing::read_all(*data);
    REQUIRE(records.size() == 10);
    for (std::size_t i = 0; i < records.size(); ++i) {
      CHECK(text_of(records[i].image) == testing::fixture_image(i % 5));
      CHECK(records[i].label == testing::kFixtureLabels[i % 5]);
    }
    const bool braces = text.find('{') != std::string::npos;  // bytewise "mds-gz/" comes before "mds/"
    CHECK(data->record_location(braces ? 0 : 5).file == first + "/shard.00000.mds");
    CHECK(data->record_location(braces ? 5 : 0).file == second + "/shard.00000.mds.gz");
  }
}

TEST_CASE("files that do not belong to the MDS indexes are rejected by name") {
  const TemporaryFolder folder;
  const std::string path = copied(folder, "mds"), other = copied(folder, "mds-pil");
  const auto why = [](const std::string& text) { return testing::error_message([&] { return open_dataset(text); }); };
  const std::string list = folder.str("mds{,-pil}/index.json");
  CHECK_THAT(why(list), Catch::Contains("open " + other + "/index.json: the columns are ") &&
                            Catch::Contains("(pil)") && Catch::EndsWith("as in " + path + "/index.json"));
  folder.write("x.tar", testing::fixture_bytes("webdataset/cls.tar"));
  for (const char* const files : {"{mds/index.json,x.tar}", "mds/*"})
    CHECK_THAT(why(folder.str(files)), Catch::Contains(" is not an MDS index.json like ") &&
                                           Catch::Contains(path + "/index.json. Pass MDS folders"));
  CHECK_THAT(why(folder.str("{mds/index.json,x.tar}")),
             Catch::Contains(folder.str("x.tar") + " is not an MDS index.json"));
  for (const char* const files : {"mds/shard.*.mds", "mds/shard.00000.mds", "mds/shard.0000{0..1}.mds"})
    CHECK_THAT(why(folder.str(files)),
               Catch::Contains(path + "/shard.00000.mds is an MDS shard") && Catch::Contains("Pass the folder"));
}

TEST_CASE("an MDS folder that cannot be opened gives the reason") {
  const TemporaryFolder folder;
  const std::string path = copied(folder, "mds");
  const auto why = [&](const std::string& text, const std::string& split = "") -> std::string {
    try {
      (void)open_dataset(text, split);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK_THAT(why(path, "train"), Catch::Contains("an MDS folder is one split"));
  CHECK_THAT(why(path + "#image=x"), Catch::Contains("open " + path + "/index.json: no column 'x'"));
  CHECK_THAT(why(path + "#colour=x"), Catch::Contains("unknown option 'colour'"));
  std::filesystem::remove(path + "/shard.00001.mds");
  CHECK_THAT(why(path), Catch::Contains("shard.00001.mds"));
}

}  // namespace
}  // namespace unstarve
