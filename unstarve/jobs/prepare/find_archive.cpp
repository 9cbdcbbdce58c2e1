#include "unstarve/jobs/prepare/find_archive.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/core/error.h"
#include "unstarve/jobs/prepare/digest.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/source/folder_scan.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

struct ArchiveCheck {
  FoundArchive found;
  std::string wrong;  // why it is not the archive; empty if it is
};

// Prefers SHA-256: MD5 detects accidental damage, not attacks.
ArchiveCheck check_file(const PublishedArchive& archive, const fs::path& file, const Advanced& advanced) {
  ArchiveCheck candidate{{file, fs::file_size(file), ""}, ""};
  const bool sha256 = !archive.sha256.empty();
  const std::string& published = sha256 ? archive.sha256 : archive.md5;
  if (published.empty()) {
    candidate.found.checked = archive.bytes > 0 ? "size" : "name";
    if (archive.bytes > 0 && candidate.found.bytes != archive.bytes)
      candidate.wrong = fmt::format("{} bytes; expected {} as published", candidate.found.bytes, archive.bytes);
    return candidate;
  }
  candidate.found.checked = sha256 ? "sha256" : "md5";
  const std::string found = digest_file(file, sha256 ? Checksum::kSha256 : Checksum::kMd5, advanced);
  if (found != published) {
    candidate.wrong =
        fmt::format("{} is {}; expected {} as published ({} bytes{})", sha256 ? "SHA-256" : "MD5", found, published,
                    candidate.found.bytes, archive.bytes > 0 ? fmt::format(", published {}", archive.bytes) : "");
  }
  return candidate;
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

void reject_other_form(const CatalogueEntry& entry, const PublishedArchive& archive, const fs::path& folder,
                       const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    for (const OtherForm& form : entry.other_forms) {
      const bool may_be = file == form.file || (!form.md5.empty() && ending(file) == ending(form.file));
      if (!may_be) continue;
      if (file != form.file && digest_file(folder / file, Checksum::kMd5) != form.md5) continue;
      throw Error(ErrorKind::kInput, fmt::format("prepare {}: {} is {}, which is not supported: {}; use {}{}",
                                                 entry.name, (folder / file).string(), form.file, form.reason,
                                                 archive.file, archive.url.empty() ? "" : " (" + archive.url + ")"));
    }
  }
}

}  // namespace

FoundArchive check_archive(const PublishedArchive& archive, const fs::path& file, const Advanced& advanced) {
  const ArchiveCheck candidate = check_file(archive, file, advanced);
  if (!candidate.wrong.empty()) throw Error(ErrorKind::kInput, "prepare: " + file.string() + ": " + candidate.wrong);
  return candidate.found;
}

FoundArchive find_archive(const CatalogueEntry& entry, const PublishedArchive& archive, const fs::path& folder,
                          const Advanced& advanced) {
  const std::vector<std::string> files = list_folder(folder.string()).files;
  std::string wrong;
  if (std::ranges::find(files, archive.file) != files.end()) {
    const ArchiveCheck candidate = check_file(archive, folder / archive.file, advanced);
    if (candidate.wrong.empty()) return candidate.found;
    wrong = (folder / archive.file).string() + ": " + candidate.wrong;
  }
  const bool has_checksum = archive.bytes > 0 && (!archive.md5.empty() || !archive.sha256.empty());
  for (const std::string& file : files) {
    if (!has_checksum || file == archive.file || fs::file_size(folder / file) != archive.bytes) continue;
    const ArchiveCheck candidate = check_file(archive, folder / file, {});
    if (candidate.wrong.empty()) return candidate.found;
  }
  if (!wrong.empty()) throw Error(ErrorKind::kInput, "prepare " + entry.name + ": " + wrong);
  reject_other_form(entry, archive, folder, files);
  const std::string where = !archive.url.empty()  ? "published at " + archive.url
                            : !entry.note.empty() ? entry.note
                                                  : "see " + entry.home;
  throw Error(ErrorKind::kInput, fmt::format("prepare {}: {} does not contain {}; {}", entry.name, folder.string(),
                                             description(archive), where));
}

}  // namespace unstarve
