// The known datasets. Sources: the home page of each entry; MD5 of MNIST, Caltech and ImageNet also from
// torchvision.datasets; sizes and SHA-256 from tensorflow_datasets/url_checksums/*.txt.
#include "unstarve/jobs/prepare/catalogue.h"

namespace unstarve {
namespace {

constexpr const char* kNoLicence = "not published";

PublishedArchive idx_file(const std::string& base, const std::string& file, std::uint64_t bytes, const std::string& md5,
                          const std::string& sha256) {
  PublishedArchive archive{.file = file, .bytes = bytes, .md5 = md5, .sha256 = sha256, .url = base + file};
  archive.split = file.starts_with("train") ? "train" : "test";
  return archive;
}

CatalogueEntry cifar(int classes) {
  CatalogueEntry entry;
  const std::string number = std::to_string(classes);
  entry.name = "cifar" + number;
  entry.title = "CIFAR-" + number;
  entry.purpose = "classification of 32 x 32 colour images";
  entry.licence = kNoLicence;
  entry.home = "https://www.cs.toronto.edu/~kriz/cifar.html";
  entry.classes = static_cast<std::uint64_t>(classes);
  entry.splits = {{"train", 50'000}, {"test", 10'000}};
  return entry;
}

CatalogueEntry cifar10() {
  CatalogueEntry entry = cifar(10);
  entry.published = "binary version: cifar-10-batches-bin/{data_batch_1..5,test_batch}.bin, 3073 bytes per image";
  entry.archives = {{.file = "cifar-10-binary.tar.gz",
                     .bytes = 170'052'171,
                     .md5 = "c32a1d4ab5d03f1284b67883e8d87530",
                     .sha256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                     .url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                     .inside = "cifar-10-batches-bin"}};
  entry.other_forms = {{"cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a", "its images are Python pickles"},
                       {"cifar-10-matlab.tar.gz", "70270af85842c9e89bb428ec9976c926", "its images are MATLAB arrays"}};
  return entry;
}

CatalogueEntry cifar100() {
  CatalogueEntry entry = cifar(100);
  entry.published = "binary version: cifar-100-binary/{train,test}.bin, 3074 bytes per image (coarse and fine label)";
  entry.archives = {{.file = "cifar-100-binary.tar.gz",
                     .bytes = 168'513'733,
                     .md5 = "03b5dce01913d631647c71ecec9e9cb8",
                     .sha256 = "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                     .url = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                     .inside = "cifar-100-binary"}};
  entry.other_forms = {{"cifar-100-python.tar.gz", "eb9058c3a382ffc7106e4002c42a8d85", "its images are Python pickles"},
                       {"cifar-100-matlab.tar.gz", "6a4bfa1dcd5c9453dda6bb54194911f4", "its images are MATLAB arrays"}};
  return entry;
}

CatalogueEntry mnist() {
  CatalogueEntry entry;
  entry.name = "mnist";
  entry.title = "MNIST";
  entry.purpose = "classification of 28 x 28 grey images of handwritten digits";
  entry.licence = "CC BY-SA 3.0";
  entry.home = "http://yann.lecun.com/exdb/mnist/";
  entry.published = "four idx files, gzip: {train,t10k}-images-idx3-ubyte.gz, {train,t10k}-labels-idx1-ubyte.gz";
  entry.classes = 10;
  entry.splits = {{"train", 60'000}, {"test", 10'000}};
  const std::string base = "https://storage.googleapis.com/cvdf-datasets/mnist/";
  entry.archives = {idx_file(base, "train-images-idx3-ubyte.gz", 9'912'422, "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                             "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
                    idx_file(base, "train-labels-idx1-ubyte.gz", 28'881, "d53e105ee54ea40749a09fcbcd1e9432",
                             "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
                    idx_file(base, "t10k-images-idx3-ubyte.gz", 1'648'877, "9fb629c4189551a2d022fa330f9573f3",
                             "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
                    idx_file(base, "t10k-labels-idx1-ubyte.gz", 4'542, "ec29112dd5afa0611ce80d1b7f02629c",
                             "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6")};
  return entry;
}

CatalogueEntry fashion_mnist() {
  CatalogueEntry entry = mnist();
  entry.name = "fashion-mnist";
  entry.title = "Fashion-MNIST";
  entry.purpose = "classification of 28 x 28 grey images of clothing";
  entry.licence = "MIT";
  entry.home = "https://github.com/zalandoresearch/fashion-mnist";
  const std::string base = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/";
  entry.archives = {idx_file(base, "train-images-idx3-ubyte.gz", 26'421'880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                             "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
                    idx_file(base, "train-labels-idx1-ubyte.gz", 29'515, "25c81989df183df01b3e8a0aad5dffbe",
                             "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
                    idx_file(base, "t10k-images-idx3-ubyte.gz", 4'422'102, "bef4ecab320f06d8554ea6380940ec79",
                             "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
                    idx_file(base, "t10k-labels-idx1-ubyte.gz", 5'148, "bb300cfdad3c16e7a12a480ee83cd310",
                             "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5")};
  return entry;
}

CatalogueEntry caltech101() {
  CatalogueEntry entry;
  entry.name = "caltech101";
  entry.title = "Caltech-101";
  entry.purpose = "classification of photographs of single objects, about 300 x 200 pixels";
  entry.licence = "CC BY 4.0";
  entry.home = "https://data.caltech.edu/records/mzrjq-6wc02";
  entry.published =
      "zip with caltech-101/101_ObjectCategories.tar.gz: a folder per class; BACKGROUND_Google, which is not a class, "
      "is "
      "skipped";
  entry.classes = 101;
  entry.archives = {{.file = "caltech-101.zip",
                     .bytes = 137'414'764,
                     .md5 = "3138e1922a9193bfa496528edbbc45d0",
                     .url = "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
                     .member = "caltech-101/101_ObjectCategories.tar.gz",
                     .inside = "101_ObjectCategories",
                     .leave_out = {"BACKGROUND_Google"}}};
  return entry;
}

CatalogueEntry caltech256() {
  CatalogueEntry entry;
  entry.name = "caltech256";
  entry.title = "Caltech-256";
  entry.purpose = "classification of photographs, 256 categories and clutter (257.clutter)";
  entry.licence = kNoLicence;
  entry.home = "https://data.caltech.edu/records/nyy15-4j048";
  entry.published = "tar (1.2 GB) with 256_ObjectCategories: a folder per class, 30,607 images";
  entry.classes = 257;
  entry.archives = {{.file = "256_ObjectCategories.tar",
                     .md5 = "67b4f42ca05d46448c6bb8ecd2220f6d",
                     .url = "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar",
                     .inside = "256_ObjectCategories"}};
  return entry;
}

CatalogueEntry imagenet() {
  CatalogueEntry entry;
  entry.name = "imagenet";
  entry.title = "ImageNet-1k (ILSVRC2012)";
  entry.purpose = "classification of photographs, about 500 x 400 pixels";
  entry.licence = "non-commercial research and education, by agreement with ImageNet";
  entry.home = "https://image-net.org/challenges/LSVRC/2012/2012-downloads.php";
  entry.published =
      "train: a tar of one tar per class; val: a flat tar; devkit: the classes (meta.mat) and the ground truth of val";
  entry.note = "needs an account at image-net.org: download the archives there, then use --from DIR";
  entry.classes = 1000;
  entry.splits = {{"train", 1'281'167}, {"val", 50'000}};
  entry.layout = PreparedLayout::kImageNet;
  entry.archives = {{.file = "ILSVRC2012_devkit_t12.tar.gz",
                     .md5 = "fa75699e90414af021442c21a62c3abf",
                     .split = "val",
                     .inside = "ILSVRC2012_devkit_t12",
                     .to = ".devkit"},
                    {.file = "ILSVRC2012_img_val.tar",
                     .bytes = 6'744'924'160,
                     .md5 = "29b22e2961454d5413ddabcf34fc5622",
                     .sha256 = "c7e06a6c0baccf06d8dbeb6577d71efff84673a5dbdd50633ab44f8ea0456ae0",
                     .split = "val",
                     .to = "val"},
                    {.file = "ILSVRC2012_img_train.tar",
                     .bytes = 147'897'477'120,
                     .md5 = "1d675b47d978889d74fa0da5fadfb00e",
                     .sha256 = "b08200a27a8e34218a0e58fde36b0fe8f73bc377f4acea2d91602057c3ca45bb",
                     .split = "train",
                     .to = "train",
                     .each = true}};
  return entry;
}

CatalogueEntry coco() {
  CatalogueEntry entry;
  entry.name = "coco";
  entry.title = "COCO 2017";
  entry.purpose = "object detection in photographs of scenes; the label is the class of the largest object";
  entry.licence = "annotations CC BY 4.0; images under Flickr's terms";
  entry.home = "https://cocodataset.org/#download";
  entry.published = "zips of train2017/, val2017/ and annotations/instances_{train,val}2017.json";
  entry.classes = 80;
  entry.splits = {{"train", 118'287}, {"val", 5'000}};
  entry.layout = PreparedLayout::kCoco;
  const std::string base = "http://images.cocodataset.org/";
  entry.archives = {{.file = "annotations_trainval2017.zip",
                     .bytes = 252'907'541,
                     .sha256 = "113a836d90195ee1f884e704da6304dfaaecff1f023f49b6ca93c4aaae470268",
                     .url = base + "annotations/annotations_trainval2017.zip",
                     .inside = "annotations",
                     .to = "annotations"},
                    {.file = "val2017.zip",
                     .bytes = 815'585'330,
                     .sha256 = "4f7e2ccb2866ec5041993c9cf2a952bbed69647b115d0f74da7ce8f4bef82f05",
                     .url = base + "zips/val2017.zip",
                     .split = "val",
                     .inside = "val2017",
                     .to = "val2017"},
                    {.file = "train2017.zip",
                     .bytes = 19'336'861'798,
                     .sha256 = "69a8bb58ea5f8f99d24875f21416de2e9ded3178e903f1f7603e283b9e06d929",
                     .url = base + "zips/train2017.zip",
                     .split = "train",
                     .inside = "train2017",
                     .to = "train2017"}};
  return entry;
}

struct OpenImagesTar {
  const char* name;  // of the folder in the archive NAME.tar.gz
  std::uint64_t bytes;
  const char* sha256;
};

constexpr OpenImagesTar kOpenImagesTars[] = {
    {"validation", 12'844'530'798, "515fefdf310e17e204cfe84bb3d05e53d8a6b5465ef3b9a3164383082b506df3"},
    {"test", 38'750'827'781, "346814b1820eae6543f862cf1d8f48c16ee81202eceb79ed4d484a1520e96695"},
    {"train_0", 49'310'925'536, "0cf97b0666d4c11e0ba8c2380816f2bf09c9f7750abebd658bd9204d0aa10397"},
    {"train_1", 36'916'994'080, "4c7d751e9f7d2f6774b70a903b7abc084adde2019cb030144ab2cb0c251a06bc"},
    {"train_2", 35'415'986'940, "a83f0b60f4390680c01c00e199b546ec0333e76513f35b3cadb5024f29ee266e"},
    {"train_3", 34'107'458'830, "f139398421624535bf79199dc82e32f48f062e2db43410487b2e7d768a1aea88"},
    {"train_4", 33'169'188'573, "ff2053e039c0cbd890a85f68ce71f3c97b48895c96b1f20c090bc8ca5221939e"},
    {"train_5", 33'458'664'112, "09e32c82c51c89b56782678cfbb61c0debc9d81a62cd03bdbb50cbe3a0a65fcd"},
    {"train_6", 33'831'108'937, "6f16913f9eed07e8bb5115fc9bb56cf64831e7c73194ff9005be93a57366d181"},
    {"train_7", 33'529'833'990, "669d15ba911ba40f3af28eb3dbfe2f293813bcdc9a7a08666eb4e8832b3bfaf9"},
    {"train_8", 33'276'342'821, "784b8305c226b89c506fc4f95e7bd41ff7c40f6e46c9a2af22d2d95a78429923"},
    {"train_9", 32'822'929'881, "65fcac6b7ca8d8ce464ed1a7e75cee70a801be27cf80ded719e3b7e801fc1bbb"},
    {"train_a", 32'991'790'568, "74e5787afbf7a4d57346420eed055f1d4763b74b411d8040dc54bfe1165cf7ee"},
    {"train_b", 33'652'756'676, "a3538e9233ad013f1907354b7e67b991b765569b18139e7526f5fcb23b1b5a4f"},
    {"train_c", 33'386'910'071, "13e439d0f09251e3c1e559aa36b7058220273083e1186de08ce882919d12b5b2"},
    {"train_d", 33'324'632'268, "8cc4cbb08d3d2ada32d1ff17adfc2d79b5c3145198c97ddaf058e0749f57f41b"},
    {"train_e", 30'300'455'002, "4916d467d0d8c741de70a1de25985543a19b3fa72547771c7b69474176ffec56"},
    {"train_f", 29'979'648'524, "172ef8c26dad6330151d820e342396fdd7d84956713956d5ad1bae74adb7f33a"},
};

PublishedArchive open_images_labels(const std::string& file, const std::string& split, std::uint64_t bytes) {
  return {.file = file,
          .bytes = bytes,
          .url = "https://storage.googleapis.com/openimages/v7/" + file,
          .split = split,
          .to = "labels"};
}

CatalogueEntry open_images() {
  CatalogueEntry entry;
  entry.name = "open-images";
  entry.title = "Open Images V7";
  entry.purpose = "multi-label classification of photographs; the label is the first verified one";
  entry.licence = "annotations CC BY 4.0; images listed as CC BY 2.0";
  entry.home = "https://storage.googleapis.com/openimages/web/download_v7.html";
  entry.published =
      "tar.gz with {train_0..f,validation,test}/ID.jpg; labels as CSV (ImageID,Source,LabelName,Confidence)";
  entry.note = "the 1.9 million images with boxes, which are published as archives; --only validation: 13 GB";
  entry.classes = 20'931;
  entry.splits = {{"train", 1'743'042}, {"validation", 41'620}, {"test", 125'436}};
  entry.layout = PreparedLayout::kOpenImages;
  entry.archives = {open_images_labels("oidv7-class-descriptions.csv", "", 501'178),
                    open_images_labels("oidv7-val-annotations-human-imagelabels.csv", "validation", 28'392'297),
                    open_images_labels("oidv7-test-annotations-human-imagelabels.csv", "test", 93'606'939),
                    open_images_labels("oidv7-train-annotations-human-imagelabels.csv", "train", 2'735'816'020)};
  for (const OpenImagesTar& tar : kOpenImagesTars) {
    const std::string name = tar.name, split = name.substr(0, name.find('_'));
    entry.archives.push_back({.file = name + ".tar.gz",
                              .bytes = tar.bytes,
                              .sha256 = tar.sha256,
                              .url = "https://open-images-dataset.s3.amazonaws.com/tar/" + name + ".tar.gz",
                              .split = split,
                              .inside = name,
                              .to = split});
  }
  return entry;
}

}  // namespace

std::vector<CatalogueEntry> known_datasets() {
  return {cifar10(),    cifar100(), mnist(), fashion_mnist(), caltech101(),
          caltech256(), imagenet(), coco(),  open_images()};
}

}  // namespace unstarve
