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
#include "unstarve/storage/formats/folder/split_folders.h"
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
  const char* name;  // in messages: "image folder"
  // Cheap: checks names, lengths and first bytes. Must not throw. A source that two formats recognise is ambiguous.
  bool (*recognises)(const Source& source);
  // Throws as open_dataset(). `split` is "" for all samples.
  std::shared_ptr<const Dataset> (*open)(const Source& source, const std::string& split);
  // open() reads source.options, one of which is `label`, and rejects unknown ones; otherwise options are an error.
  bool takes_options = false;
  bool last_resort = false;    // ignored if another format recognises the source
  bool generated = false;      // reads no files: messages do not list it
  bool in_subfolders = false;  // recognised by subfolders, which may be splits of any format: open() gets no split
};

constexpr std::array<Format, 15> kFormats = {{
    {"CIFAR binary", recognises_cifar, open_cifar},
    {"CIFAR Python", recognises_cifar_python, open_cifar_python},
    {"tfrecord", recognises_tfrecord, open_tfrecord, true},
    {"webdataset", recognises_webdataset, open_webdataset, true},
    {"recordio", recognises_recordio, open_recordio},
    {"parquet", recognises_parquet, open_parquet, true},
    {"arrow", recognises_arrow, open_arrow, true},
    {"mds", recognises_mds, open_mds, true},
    {"npy", recognises_npy, open_npy},
    {"idx", recognises_idx, open_idx},
    {"manifest", recognises_manifest, open_manifest, true},
    {"image folder", recognises_image_folder, open_image_folder, false, false, false, true},
    {"images", recognises_unlabelled_images, open_unlabelled_images, false, true},
    {"synthetic", recognises_synthetic, open_synthetic, false, false, true},
    {"sleep", recognises_sleep, open_sleep, false, false, true},
}};

std::string expected_formats() {
  std::string names;
  for (const Format& format : kFormats)
    if (!format.generated) names += (names.empty() ? "" : ", ") + std::string(format.name);
  return "; expected one of: " + names +
         ". An image folder has a folder of *.jpg, *.jpeg, *.png or *.webp files for each class";
}

// The folders that a pattern names, as one dataset.
std::shared_ptr<const Dataset> open_folders(const Source& source, const std::string& split, const std::string& labels) {
  std::vector<std::shared_ptr<const Dataset>> parts;
  for (const std::string& folder : source.folders)
    parts.push_back(open_dataset(folder + source.option_text, split, labels));
  if (parts.size() == 1) return parts.front();
  return concatenate(std::move(parts), source.folders, "open " + shown_name(source.text));
}

std::shared_ptr<const Dataset> open_as(const Format& format, Source& source, const std::string& split,
                                       const std::string& labels) {
  const std::string name = "open " + shown_name(source.text) + ": ";
  if (!format.takes_options && !source.options.empty())
    throw argument_error("{}options after '#'; expected none, because the format {} has no options", name, format.name);
  if (!format.takes_options && !labels.empty() && labels != "none")
    throw argument_error("{}labels '{}'; expected none or no value, because the format {} has one kind of labels", name,
                         labels, format.name);
  if (format.takes_options && !labels.empty()) source.options.give("label", labels);
  source.declines_labels = labels == "none";
  return format.open(source, split);
}

// A subfolder, with the options of the path of `source`.
std::shared_ptr<const Dataset> open_inside(const Source& source, const std::string& folder, const std::string& labels) {
  const std::string& path = source.path;
  const std::string end = is_url(path) ? "/" : "";  // or an object of this name is looked up in the bucket
  return open_dataset(path.substr(0, path.find_last_not_of('/') + 1) + "/" + folder + end + source.option_text, "",
                      labels);
}

// Which file has an unknown format; what it is, or else the known formats.
std::string unrecognised_file(const Source& source) {
  const std::string expected = expected_formats();
  if (source.files.size() < 2) {
    const std::string what = describe_unknown_file(shown_name(source.path), source.head);
    return "a file of no known format" + (what.empty() ? expected : what);
  }
  return fmt::format("{}, one of {} files, is a file of no known format{}", shown_name(source.first_path),
                     source.files.size(), expected);
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
  if (chosen != nullptr && chosen->in_subfolders) {
    if (const std::string folder = choose_split_folder(source, split); !folder.empty())
      return open_inside(source, folder, labels);
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
    throw input_error("open {}: the folder is empty{}", shown_name(path), expected_formats());
  }
  const std::string hint = describe_unknown_folder(source.listing);
  const std::string found = "; found " + describe(source.listing);
  throw input_error("open {}: {}", shown_name(path),
                    hint.empty() ? "no known format" + found + expected_formats() : hint + found);
}

}  // namespace unstarve
