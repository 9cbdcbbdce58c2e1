#include "unstarve/storage/open.h"

#include <array>
#include <cerrno>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/dataset/concatenated.h"
#include "unstarve/storage/formats/arrays/array_files.h"
#include "unstarve/storage/formats/cifar/cifar.h"
#include "unstarve/storage/formats/cifar/cifar_python.h"
#include "unstarve/storage/formats/folder/image_folder.h"
#include "unstarve/storage/formats/folder/manifest.h"
#include "unstarve/storage/formats/folder/unlabelled_images.h"
#include "unstarve/storage/formats/mds/mds.h"
#include "unstarve/storage/formats/parquet/parquet.h"
#include "unstarve/storage/formats/parquet/saved_dataset.h"
#include "unstarve/storage/formats/recordio/recordio.h"
#include "unstarve/storage/formats/synthetic/sleep_source.h"
#include "unstarve/storage/formats/synthetic/synthetic.h"
#include "unstarve/storage/formats/tfrecord/tfrecord.h"
#include "unstarve/storage/formats/webdataset/webdataset.h"
#include "unstarve/storage/source/source.h"
#include "unstarve/storage/unknown_file.h"

namespace unstarve {
namespace {

// A row of the table of formats. A new format is one file with `recognises` and `open`, and one row.
struct Format {
  const char* name;     // in messages: "image folder"
  const char* expects;  // the files that it reads, in a few words; empty: for measurements, not listed
  // Cheap: checks names, lengths and first bytes. Must not throw. A source that two formats recognise is ambiguous.
  bool (*recognises)(const Source& source);
  // Throws as open_dataset(). `split` is "" for all samples.
  std::shared_ptr<const Dataset> (*open)(const Source& source, const std::string& split);
  // open() reads source.options, one of which is `label`, and rejects unknown ones; otherwise options are an error.
  bool takes_options = false;
  bool last_resort = false;  // ignored if another format recognises the source
};

constexpr std::array<Format, 15> kFormats = {{
    {"CIFAR binary", "data_batch_1.bin or train.bin and its siblings", recognises_cifar, open_cifar},
    {"CIFAR Python", "data_batch_1 or train and its siblings", recognises_cifar_python, open_cifar_python},
    {"tfrecord", "*.tfrecord, also compressed", recognises_tfrecord, open_tfrecord, true},
    {"webdataset", "*.tar, also .tar.gz and .tar.zst", recognises_webdataset, open_webdataset, true},
    {"recordio", "*.rec", recognises_recordio, open_recordio},
    {"parquet", "*.parquet", recognises_parquet, open_parquet, true},
    {"arrow", "*.arrow, or a folder of save_to_disk() of Hugging Face datasets", recognises_arrow, open_arrow, true},
    {"mds", "a folder with index.json, or that file", recognises_mds, open_mds, true},
    {"npy", "images.npy and labels.npy", recognises_npy, open_npy},
    {"idx", "train-images-idx3-ubyte and its labels, as of MNIST", recognises_idx, open_idx},
    {"manifest", "a CSV or JSON-lines file of paths and labels", recognises_manifest, open_manifest, true},
    {"image folder", "one folder of *.jpg, *.jpeg, *.png or *.webp per class", recognises_image_folder,
     open_image_folder},
    {"images", "image files without labels, or a folder of them", recognises_unlabelled_images, open_unlabelled_images,
     false, true},
    {"synthetic", "synthetic:classes=10,images=2000,size=32,seed=1", recognises_synthetic, open_synthetic},
    {"sleep", "", recognises_sleep, open_sleep},
}};

std::string known_formats() {
  std::string text;
  for (const Format& format : kFormats) {
    if (*format.expects == '\0') continue;
    text += (text.empty() ? "" : "; ") + std::string(format.name) + " (" + format.expects + ")";
  }
  return text;
}

// The folders that a pattern names, as one dataset.
std::shared_ptr<const Dataset> open_folders(const Source& source, const std::string& split, const std::string& labels) {
  const std::string options = source.text.substr(source.path.size());
  std::vector<std::shared_ptr<const Dataset>> parts;
  for (const std::string& folder : source.folders) parts.push_back(open_dataset(folder + options, split, labels));
  if (parts.size() == 1) return parts.front();
  return concatenate(std::move(parts), source.folders, "open " + shown_name(source.text));
}

std::shared_ptr<const Dataset> open_as(const Format& format, Source& source, const std::string& split,
                                       const std::string& labels) {
  const std::string name = "open " + shown_name(source.text) + ": ";
  if (!format.takes_options && !source.options.empty())
    throw argument_error("{}{} takes no options after '#'", name, format.name);
  if (!format.takes_options && !labels.empty() && labels != "none")
    throw argument_error("{}labels '{}'; expected none or no value, because the format {} has one kind of labels", name,
                         labels, format.name);
  if (format.takes_options && !labels.empty()) source.options.give("label", labels);
  return format.open(source, split);
}

// Which file has an unknown format; what it is, or else the known formats.
std::string unrecognised_file(const Source& source) {
  const std::string known = "; known: " + known_formats();
  if (source.files.size() < 2) {
    const std::string what = describe_unknown_file(shown_name(source.path), source.head);
    return "a file of no known format" + (what.empty() ? known : what);
  }
  return fmt::format("{}, one of {} files, is a file of no known format{}", shown_name(source.first_path),
                     source.files.size(), known);
}

// What to use instead of a URL with an unsupported scheme; "" if unknown.
std::string_view instead_of_scheme(std::string_view url) {
  if (url.starts_with("file://")) return ". Use the path without file://.";
  if (url.starts_with("abfs://") || url.starts_with("abfss://") || url.starts_with("wasbs://"))
    return ". Use az://CONTAINER/PATH.";
  if (url.starts_with("hf://"))
    return ". Use https://huggingface.co/datasets/NAME/resolve/main/FILE, or download the files.";
  return "";
}

}  // namespace

std::shared_ptr<const Dataset> open_dataset(const std::string& path, const std::string& split,
                                            const std::string& labels) {
  if (path.empty()) throw argument_error("open: the path of the dataset is empty");
  Source source = inspect_source(path);
  if (!source.folders.empty()) return open_folders(source, split, labels);
  const Format* chosen = nullptr;
  for (const Format& format : kFormats) {
    if ((format.last_resort && chosen != nullptr) || !format.recognises(source)) continue;
    if (chosen != nullptr) {
      throw input_error("open {}: mixed formats, both {} and {}; found {}. Keep each format in its own folder",
                        shown_name(path), chosen->name, format.name, describe(source.listing));
    }
    chosen = &format;
  }
  if (chosen != nullptr) return open_as(*chosen, source, split, labels);
  if (!source.exists && source.files.empty() && has_scheme(path) && !is_url(path)) {
    throw argument_error("open {}: unsupported URL; expected http://, https://, s3://, gs:// or az://{}",
                         shown_name(path), instead_of_scheme(path));
  }
  if (!source.exists && source.files.empty()) throw io_error("open", shown_name(path), ENOENT);
  if (!source.folder) {
    throw input_error("open {}: {}", shown_name(path), unrecognised_file(source));
  }
  if (source.listing.folders.empty() && source.listing.files.empty()) {
    throw input_error("open {}: the folder is empty; known: {}", shown_name(path), known_formats());
  }
  const std::string hint = describe_unknown_folder(source.listing);
  const std::string found = "; found " + describe(source.listing);
  throw input_error("open {}: {}", shown_name(path),
                    hint.empty() ? "no known format" + found + "; known: " + known_formats() : hint + found);
}

}  // namespace unstarve
