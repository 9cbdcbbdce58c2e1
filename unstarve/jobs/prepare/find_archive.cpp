#include "unstarve/jobs/prepare/find_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "unstarve/core/error.h"
#include "unstarve/jobs/prepare/digest.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/source/folder_scan.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

struct Look {
  FoundArchive found;
  std::string wrong;  // why it is not the archive; empty when it is
};

// SHA-256 where it is published: MD5 tells accidents apart, not attacks.
Look look_at(const PublishedArchive& archive, const fs::path& file, const Advanced& advanced) {
  Look look{{file, fs::file_size(file), ""}, ""};
  const bool sha256 = !archive.sha256.empty(), md5 = !sha256 && !archive.md5.empty();
  if (archive.bytes > 0 && look.found.bytes != archive.bytes && !sha256 && !md5) {
    look.wrong = fmt::format("it has {} bytes, the published one {}", look.found.bytes, archive.bytes);
  } else if (!sha256 && !md5) {
    look.found.checked = archive.bytes > 0 ? "size" : "name";
  } else {
    const FileDigests digests = digest_file(file, md5, sha256, advanced);
    const std::string& found = sha256 ? digests.sha256 : digests.md5;
    const std::string& published = sha256 ? archive.sha256 : archive.md5;
    look.found.checked = sha256 ? "sha256" : "md5";
    if (found != published) {
      look.wrong =
          fmt::format("its {} is {}, the published one {} ({} bytes{})", sha256 ? "SHA-256" : "MD5", found, published,
                      digests.bytes, archive.bytes > 0 ? fmt::format(", published {}", archive.bytes) : "");
    }
  }
  return look;
}

std::string description(const PublishedArchive& archive) {
  std::string text = archive.file;
  if (archive.bytes > 0) text += fmt::format(", {} bytes", archive.bytes);
  if (!archive.md5.empty()) text += ", MD5 " + archive.md5;
  if (archive.md5.empty() && !archive.sha256.empty()) text += ", SHA-256 " + archive.sha256;
  return text;
}

// ".tar.gz" of "cifar-10-python.tar.gz".
std::string ending(const std::string& file) {
  const std::string last = fs::path(file).extension();
  const std::string before = fs::path(file).stem().extension();
  return before == ".tar" ? before + last : last;
}

void refuse_other_form(const CatalogueEntry& entry, const PublishedArchive& archive, const fs::path& folder,
                       const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    for (const OtherForm& form : entry.other_forms) {
      const bool may_be = file == form.file || (!form.md5.empty() && ending(file) == ending(form.file));
      if (!may_be) continue;
      if (file != form.file && digest_file(folder / file, true, false).md5 != form.md5) continue;
      throw Error(ErrorKind::kInput, fmt::format("prepare {}: {} is {}, which is not read: {}; take {}{}", entry.name,
                                                 (folder / file).string(), form.file, form.reason, archive.file,
                                                 archive.url.empty() ? "" : " (" + archive.url + ")"));
    }
  }
}

}  // namespace

FoundArchive check_archive(const PublishedArchive& archive, const fs::path& file, const Advanced& advanced) {
  Look look = look_at(archive, file, advanced);
  if (!look.wrong.empty()) throw Error(ErrorKind::kInput, "prepare: " + file.string() + ": " + look.wrong);
  return look.found;
}

FoundArchive find_archive(const CatalogueEntry& entry, const PublishedArchive& archive, const fs::path& folder,
                          const Advanced& advanced) {
  const std::vector<std::string> files = list_folder(folder.string()).files;
  std::string wrong;
  if (std::find(files.begin(), files.end(), archive.file) != files.end()) {
    Look look = look_at(archive, folder / archive.file, advanced);
    if (look.wrong.empty()) return look.found;
    wrong = (folder / archive.file).string() + ": " + look.wrong;
  }
  const bool told_by_content = archive.bytes > 0 && (!archive.md5.empty() || !archive.sha256.empty());
  for (const std::string& file : files) {
    if (!told_by_content || file == archive.file || fs::file_size(folder / file) != archive.bytes) continue;
    Look look = look_at(archive, folder / file, {});
    if (look.wrong.empty()) return look.found;
  }
  if (!wrong.empty()) throw Error(ErrorKind::kInput, "prepare " + entry.name + ": " + wrong);
  refuse_other_form(entry, archive, folder, files);
  const std::string where = !archive.url.empty()  ? "it is published at " + archive.url
                            : !entry.note.empty() ? entry.note
                                                  : "see " + entry.home;
  throw Error(ErrorKind::kInput,
              fmt::format("prepare {}: {} has no {}; {}", entry.name, folder.string(), description(archive), where));
}

}  // namespace unstarve
