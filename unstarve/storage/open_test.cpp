#include "unstarve/storage/open.h"

#include <unistd.h>

#include <filesystem>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/tar_text.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;

void check_rejected(const std::string& path, ErrorKind kind, const std::string& part, const std::string& split = "") {
  INFO(path);
  const std::string message = testing::error_message([&] { return open_dataset(path, split); }, kind);
  CHECK_THAT(message, Catch::Contains(part));
  if (kind != ErrorKind::kMemory) CHECK_THAT(message, Catch::Contains(path));
}

TEST_CASE("errors name the path, the contents and the known formats") {
  TemporaryFolder folder;
  check_rejected(folder.str("nowhere"), ErrorKind::kIo, "No such file or directory");
  check_rejected("", ErrorKind::kArgument, "the path of the dataset is empty");

  folder.folder("empty");
  check_rejected(folder.str("empty"), ErrorKind::kInput, "the folder is empty; expected one of: CIFAR binary");

  folder.write("flat/1.txt", "x");
  check_rejected(folder.str("flat"), ErrorKind::kInput,
                 "no known format; found 0 folders, 1 file (1.txt); expected one of: ");

  folder.write("saved/state.json", "{}");
  folder.write("saved/data-00000-of-00001.arrow", "x");
  check_rejected(folder.str("saved"), ErrorKind::kInput, "Arrow files that are damaged");
  folder.write("unsaved/state.json", "{}");
  folder.write("unsaved/dataset_info.json", "{}");
  check_rejected(folder.str("unsaved"), ErrorKind::kInput, "saved by Hugging Face datasets, but without its *.arrow");
  folder.write("pickles/data_batch_1", "x");
  check_rejected(folder.str("pickles"), ErrorKind::kInput, "named as the Python version of CIFAR");
  folder.write("ffcv/train.beton", "x");
  check_rejected(folder.str("ffcv"), ErrorKind::kInput, "an FFCV file, which is not supported: pack the original");
  folder.write("optimised/index.json", "{\"chunks\": []}");
  folder.write("optimised/chunk-0-0.bin", "x");
  check_rejected(folder.str("optimised"), ErrorKind::kInput, "written by LitData");

  folder.write("imageless/a/notes.txt", "x");
  check_rejected(folder.str("imageless"), ErrorKind::kInput, "no image in the class folders; found 1 folder (a)");
  check_rejected(folder.str("imageless"), ErrorKind::kInput, "; a has 0 folders, 1 file (notes.txt); expected files");
  folder.write("bitmaps/1.BMP", "x");
  check_rejected(folder.str("bitmaps"), ErrorKind::kInput, "images of an unsupported format: convert them");
  folder.write("photo.gif", "GIF89a");
  check_rejected(folder.str("photo.gif"), ErrorKind::kInput, "an image of an unsupported format: convert it");

  folder.write("file.txt", "x");
  check_rejected(folder.str("file.txt"), ErrorKind::kInput, "a file of no known format; expected one of: ");

  folder.write("empty.txt", "");
  check_rejected(folder.str("empty.txt"), ErrorKind::kInput, "no known format: it is empty");
  folder.write("empty.tar", std::string(10240, '\0'));
  check_rejected(folder.str("empty.tar"), ErrorKind::kInput, "only zeros, as a tar without members");
  folder.write("data.arrow", "\xff\xff\xff\xff");
  check_rejected(folder.str("data.arrow"), ErrorKind::kInput, "named as an Arrow file, but damaged");
  folder.write("data.parquet", "x");
  check_rejected(folder.str("data.parquet"), ErrorKind::kInput, "does not begin with PAR1");
  folder.write("data.feather", "FEA1");
  check_rejected(folder.str("data.feather"), ErrorKind::kInput, "a Feather file of version 1");
  folder.write("data.tar", "x");
  check_rejected(folder.str("data.tar"), ErrorKind::kInput, "the checksum of its first header is wrong");
  folder.write("data.beton", "x");
  check_rejected(folder.str("data.beton"), ErrorKind::kInput, "an FFCV file");
  folder.write("zeros.beton", std::string(4096, '\0'));
  check_rejected(folder.str("zeros.beton"), ErrorKind::kInput, "it begins with zeros only: damaged");
  folder.write("litdata/index.json", R"({"chunks": [], "config": {"data_format": ["jpeg", "int"]}})");
  check_rejected(folder.str("litdata"), ErrorKind::kInput, "index.json does not belong to MDS, possibly to LitData");
  check_rejected(folder.str("litdata/index.json"), ErrorKind::kInput, "it is written by LitData");
  for (const char* const named : {"optimised", "litdata", "data.beton", "empty.tar", "data.parquet"})
    CHECK(testing::error_message([&] { return open_dataset(folder.str(named)); }).find("expected one of: ") ==
          std::string::npos);
  folder.write("batch.pkl", "\x80\x04}");
  check_rejected(folder.str("batch.pkl"), ErrorKind::kInput, "a Python pickle, which may run code");

  folder.write("data.zip", "PK\x03\x04");
  check_rejected(folder.str("data.zip"), ErrorKind::kInput, "a zip archive, which is not supported: unpack it");
  folder.write("data.npz", "PK\x03\x04");
  check_rejected(folder.str("data.npz"), ErrorKind::kInput, "an .npz file, which is not supported: save its arrays");
  folder.write("data.pt", "PK\x03\x04");
  check_rejected(folder.str("data.pt"), ErrorKind::kInput, "a file of torch.save(), which is not supported: save its");
  folder.write("lmdb/data.mdb", "x");
  folder.write("lmdb/lock.mdb", "x");
  check_rejected(folder.str("lmdb"), ErrorKind::kInput, "an LMDB database, which is not supported: pack");
  check_rejected(folder.str("lmdb/data.mdb"), ErrorKind::kInput, "an LMDB database, which is not supported: pack");
  folder.write("videos/a.mp4", "x");
  check_rejected(folder.str("videos"), ErrorKind::kInput, "videos, which are not supported: save their frames as JPEG");
  check_rejected(folder.str("videos/a.mp4"), ErrorKind::kInput, "a video, which is not supported: save its frames");
  check_rejected("file:///data/photos", ErrorKind::kArgument, "unsupported URL; expected http://");
  check_rejected("file:///data/photos", ErrorKind::kArgument, "Use the path without file://");
  check_rejected("abfs://container/x", ErrorKind::kArgument, "Use az://CONTAINER/PATH");
  check_rejected("hf://datasets/x", ErrorKind::kArgument, "Use https://huggingface.co/datasets/");
  folder.write("splits/ds-train.tfrecord", "x");
  folder.write("splits/ds-test.tfrecord", "x");
  check_rejected(folder.str("splits"), ErrorKind::kInput, "choose one of them: split=\"train\" (--split train)");

  folder.write("a.tar.bz2", "BZh91AY&SY");
  check_rejected(folder.str("a.tar.bz2"), ErrorKind::kInput,
                 "no known format: it is compressed with bzip2, which is not");
  folder.write("a.tar.xz", std::string("\xfd"
                                       "7zXZ\0\0\4",
                                       8));
  check_rejected(folder.str("a.tar.xz"), ErrorKind::kInput, "no known format: it is compressed with xz, which is not");
  folder.write("page.tar", "\n <!DOCTYPE HTML>\n<title>Log in</title>");
  check_rejected(folder.str("page.tar"), ErrorKind::kInput, "no known format: it is a web page");
  folder.write("list.csv", "foo,bar\n1.jpg,2\n");
  const std::string list = folder.str("list.csv");
  check_rejected(list, ErrorKind::kInput, "no known format: found the columns foo, bar, none of which is known");
  check_rejected(list, ErrorKind::kInput, "Name it: " + list + "#path=COLUMN");
  check_rejected(list + "#path=far", ErrorKind::kInput, "found the columns foo, bar");
  folder.write("1.jpg", "x");
  CHECK(open_dataset(list + "#path=foo,label=bar")->size() == 1);

  folder.write("mixed/a/1.jpg", "x");
  folder.write("mixed/data_batch_1.bin", "x");
  check_rejected(folder.str("mixed"), ErrorKind::kInput,
                 "mixed formats, both CIFAR binary and image folder; found 1 folder (a), 1 file (data_batch_1.bin)");

  for (int i = 0; i < 8; ++i) folder.write("many/" + std::to_string(i) + ".txt", "x");
  check_rejected(folder.str("many"), ErrorKind::kInput, "8 files (0.txt, 1.txt, 2.txt, 3.txt, 4.txt, ...)");
}

TEST_CASE("of several files of unknown format the inspected one is named") {
  const TemporaryFolder folder;
  for (const char* const name : {"a.txt", "b.txt"}) folder.write(name, name);
  check_rejected(folder.str("*.txt"), ErrorKind::kInput,
                 folder.str("a.txt") + ", one of 2 files, is a file of no known format; expected one of: ");
}

TEST_CASE("folders named by a glob or braces are one dataset with classes merged by name") {
  const TemporaryFolder folder;
  folder.write("a/cat/1.jpg", "cat a");
  folder.write("b/ant/1.jpg", "ant b");
  folder.write("b/cat/1.jpg", "cat b");
  for (const char* const text : {"{a,b}", "{a,b}/", "*", "[ab]/"}) {
    INFO(text);
    const auto data = open_dataset(folder.str(text));
    CHECK(data->size() == 3);
    CHECK(data->classes() == std::vector<std::string>{"cat", "ant"});
    const std::vector<testing::RecordCopy> records = testing::read_all(*data);
    CHECK(records[1].image == std::vector<std::uint8_t>{'a', 'n', 't', ' ', 'b'});
    CHECK(records[1].label == 1);
    CHECK(records[2].label == 0);
  }
  CHECK(open_dataset(folder.str("[a]"))->format() == "image folder");
  folder.write("c.tar", "x");
  check_rejected(folder.str("{a,c.tar}"), ErrorKind::kInput,
                 "found folders (" + folder.str("a") + ") and files (" + folder.str("c.tar") + ")");
  folder.folder("empty");
  const std::string why = testing::error_message([&] { return open_dataset(folder.str("{a,empty}")); });
  CHECK_THAT(why, Catch::Contains("open " + folder.str("empty") + ": the folder is empty"));
}

TEST_CASE("unreadable folders are reported") {
  if (::geteuid() == 0) return;  // root reads everything
  TemporaryFolder folder;
  folder.write("set/a/1.jpg", "x");
  std::filesystem::permissions(folder.path() / "set/a", std::filesystem::perms::none);
  check_rejected(folder.str("set"), ErrorKind::kIo, "Permission denied");
  std::filesystem::permissions(folder.path() / "set/a", std::filesystem::perms::owner_all);
}

TEST_CASE("shards one level deeper are opened by their split, or their folder is named") {
  const TemporaryFolder folder;
  testing::TarText tar;
  tar.file("0.jpg", "x").file("0.cls", "1");
  for (const char* const name : {"set/train/0.tar", "set/val/0.tar", "other/data/train-0.tar"})
    folder.write(name, tar.end());
  check_rejected(folder.str("set"), ErrorKind::kInput,
                 "the subfolders are splits (train, val); expected classes. Choose a split, for example "
                 "split=\"train\" (--split train)");
  const auto data = open_dataset(folder.str("set") + "/#label=cls", "val");
  CHECK(data->format() == "webdataset");
  CHECK(data->location(0) == folder.str("set/val/0.tar") + " 0 record 0 at offset 0");
  check_rejected(folder.str("other"), ErrorKind::kInput, "If these are data, open " + folder.str("other/data") + ".");
}

TEST_CASE("names of folders may have a '#'") {
  const TemporaryFolder folder;
  testing::TarText tar;
  tar.file("0.jpg", "x").file("0.cls", "1").file("0.txt", "2");
  folder.write("a#b/x#1.tar", tar.end());
  for (const char* const text : {"a#b/x#1.tar", "a#b/*.tar", "a#b", "a#b/x#1.tar#label=cls", "a#b#label=cls"}) {
    INFO(text);
    CHECK(open_dataset(folder.str(text))->known_label(0) == 1);
  }
  CHECK(open_dataset(folder.str("a#b/x#1.tar#label=txt"))->known_label(0) == 2);
  folder.write("h#x=y/0.tar", tar.end());
  CHECK(open_dataset(folder.str("h#x=y#label=txt"))->known_label(0) == 2);
  CHECK(open_dataset(folder.str("h#x=y/0.tar#image=jpg,label=txt"))->known_label(0) == 2);
  check_rejected(folder.str("a#b/x#1.tar#label"), ErrorKind::kArgument, "found 'label'; expected key=value");
  folder.write("a#b/list.csv", "path,label\n1.jpg,2\n");
  CHECK(open_dataset(folder.str("a#b/list.csv") + "#root=" + folder.str("a#b"))->size() == 1);
}

TEST_CASE("options of generated datasets are checked") {
  check_rejected("synthetic:classes=0", ErrorKind::kArgument,
                 "option classes is '0'; expected an integer from 1 to 1000");
  check_rejected("synthetic:images=many", ErrorKind::kArgument, "option images is 'many'");
  check_rejected("synthetic:size=32x", ErrorKind::kArgument, "option size is '32x'");
  check_rejected("synthetic:size=-8", ErrorKind::kArgument, "option size is '-8'");
  check_rejected("synthetic:seed=", ErrorKind::kArgument, "option seed is ''");
  check_rejected("synthetic:colour=1", ErrorKind::kArgument,
                 "unknown option 'colour'; expected one of classes, images, size, seed");
  check_rejected("synthetic:size", ErrorKind::kArgument, "found 'size'; expected key=value");
  check_rejected("synthetic:size=16,size=8", ErrorKind::kArgument, "option 'size' is given twice");
  check_rejected("synthetic:images=100000000,size=500", ErrorKind::kMemory, "unstarve synth");
  check_rejected("synthetic:images=10", ErrorKind::kArgument, "no split 'half'", "half");
  check_rejected("sleep:ms=-1", ErrorKind::kArgument, "option ms is '-1'");
  check_rejected("sleep", ErrorKind::kArgument, "no split 'train'", "train");
  check_rejected("sleepy", ErrorKind::kIo, "No such file or directory");
}

TEST_CASE("data that is left out or probably not intended is a notice") {
  const auto notices = [](const std::string& path, const std::string& split = "") {
    std::string all;
    set_notice_sink([&](const std::string& text) { all += text + "\n"; });
    (void)open_dataset(path, split);
    set_notice_sink({});
    return all;
  };
  const TemporaryFolder folder;
  folder.write("photos/a/1.jpg", "x");
  folder.write("photos/a/notes.txt", "x");
  CHECK(notices(folder.str("photos")).empty());
  folder.write("photos/b/2.GIF", "x");
  folder.write("photos/b/sub/3.tif", "x");
  CHECK_THAT(notices(folder.str("photos")), Catch::Contains("found images of unsupported formats, which are left out "
                                                            "(2, for example b/2.GIF); expected *.jpg"));
  folder.write("mixed/a/1.jpg", "x");
  folder.write("mixed/2.jpg", "x");
  CHECK_THAT(notices(folder.str("mixed")),
             Catch::Contains("images outside of the class folders, which are left out (1, for example 2.jpg)"));

  const std::string records(3073, '\1');
  folder.write("cifar/data_batch_1.bin", records);
  folder.write("cifar/test_batch.bin", records);
  CHECK_THAT(notices(folder.str("cifar")), Catch::Contains("found the splits train and test, which are both read"));
  CHECK(notices(folder.str("cifar"), "train").empty());
  const auto images = std::string("\0\0\x8\3\0\0\0\1\0\0\0\1\0\0\0\1", 16) + "x";
  const auto labels = std::string("\0\0\x8\1\0\0\0\1", 8) + "x";
  for (const char* const name : {"train", "t10k"}) {
    folder.write(std::string("mnist/") + name + "-images-idx3-ubyte", images);
    folder.write(std::string("mnist/") + name + "-labels-idx1-ubyte", labels);
  }
  CHECK_THAT(notices(folder.str("mnist")), Catch::Contains("found the splits train and test, which are both read"));
  CHECK(notices(folder.str("mnist"), "test").empty());

  testing::TarText captions, classes;
  for (int i = 0; i < 60; ++i) {
    const std::string key = std::to_string(i);
    captions.file(key + ".jpg", "x").file(key + ".txt", "photo " + key);
    classes.file(key + ".jpg", "x").file(key + ".txt", "class " + std::to_string(i % 30));
  }
  folder.write("captions.tar", captions.end());
  folder.write("classes.tar", classes.end());
  CHECK_THAT(notices(folder.str("captions.tar")),
             Catch::Contains("captions.tar (webdataset): found 60 different texts in 60 records, each a class"));
  CHECK(notices(folder.str("captions.tar#label=none")).empty());
  CHECK(notices(folder.str("classes.tar")).empty());
  std::string captions_csv = "path,label\n", classes_csv = captions_csv;
  for (int i = 0; i < 60; ++i) {
    captions_csv += std::to_string(i) + ".jpg,photo " + std::to_string(i) + "\n";
    classes_csv += std::to_string(i) + ".jpg,class " + std::to_string(i % 30) + "\n";
  }
  folder.write("captions.csv", captions_csv);
  folder.write("classes.csv", classes_csv);
  CHECK_THAT(notices(folder.str("captions.csv")),
             Catch::Contains("captions.csv (") && Catch::Contains("found 60 different texts in 60 records"));
  CHECK(notices(folder.str("captions.csv#label=none")).empty());
  CHECK(notices(folder.str("captions.csv#classes=names")).empty());  // the user has decided
  CHECK(notices(folder.str("classes.csv")).empty());

  folder.write("joined.csv", "path,label\n1.jpg,cat\n2.jpg,dog\n3.jpg,\"cat, dog\"\n");
  CHECK_THAT(notices(folder.str("joined.csv")),
             Catch::Contains("found the class 'cat, dog', whose parts are classes, too; expected one class per image"));
  folder.write("names.csv", "path,label\n1.jpg,cat\n2.jpg,\"tench, Tinca tinca\"\n3.jpg,\"cat,\"\n");
  CHECK(notices(folder.str("names.csv")).empty());
}

}  // namespace
}  // namespace unstarve
