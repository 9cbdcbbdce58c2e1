#include "unstarve/storage/source/object_glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/source/shard_list.h"

namespace unstarve {
namespace {

// A backslash escapes the next character, as in file globs.
constexpr const char* kSpecial = "*?[\\";

bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
}

bool names_folders(const std::string& pattern) { return pattern.ends_with('/'); }

// The folders of the objects, with as many levels as `pattern` has.
std::vector<std::string> folders_of(const std::string& pattern, const std::vector<std::string>& urls) {
  const auto levels = std::count(pattern.begin(), pattern.end(), '/');
  std::set<std::string> folders;
  for (const std::string& url : urls) {
    std::size_t end = 0;
    for (auto level = levels; level > 0 && end != std::string::npos; --level) {
      end = url.find('/', end);
      if (end != std::string::npos) ++end;
    }
    if (end != std::string::npos) folders.insert(url.substr(0, end));
  }
  return {folders.begin(), folders.end()};
}

std::vector<std::string> urls_of(std::vector<RemoteObject> objects) {
  std::vector<std::string> urls;
  urls.reserve(objects.size());
  for (RemoteObject& object : objects) urls.push_back(std::move(object.url));
  return urls;
}

// Objects that may match, and the description for the message if none does.
struct Candidates {
  std::vector<std::string> urls;
  std::string description;
};

Candidates list_everything(const std::string& pattern, const ObjectLister& lister) {
  const std::string prefix = pattern.substr(0, pattern.find_first_of(kSpecial));
  Candidates found{urls_of(lister.all(prefix)), ""};
  found.description = fmt::format("{} objects that begin with {}", found.urls.size(), prefix);
  return found;
}

Candidates list_by_levels(const std::string& given, const ObjectLister& lister) {
  const bool folders = names_folders(given);
  const std::string pattern = folders ? given.substr(0, given.size() - 1) : given;
  std::vector<std::string> matched{""};  // matches of the first `at` characters of the pattern
  std::string description;
  for (std::size_t at = 0;;) {
    // Up to `wild` the pattern is literal; the level ends at the next '/'.
    const std::size_t wild = std::min(pattern.find_first_of(kSpecial, at), pattern.size());
    const std::size_t slash = pattern.find('/', wild);
    const bool last = slash == std::string::npos;
    const bool objects = last && !folders;
    Candidates found;
    std::size_t listed = 0;
    for (const std::string& begin : matched) {
      RemoteLevel level = lister.level(begin + pattern.substr(at, wild - at));
      std::vector<std::string> urls = objects ? urls_of(std::move(level.objects)) : std::move(level.folders);
      listed += urls.size();
      // A folder may be named exactly as the pattern.
      const std::string folder = pattern.substr(0, slash);
      for (std::string& url : urls) {
        if (objects || url == folder + "/" || matches(folder, url.substr(0, url.size() - 1)))
          found.urls.push_back(std::move(url));
      }
    }
    description = std::to_string(listed) + (objects ? " objects" : " folders");
    description += matched.size() == 1 ? " that begin with " + matched.front() + pattern.substr(at, wild - at)
                                       : fmt::format(" in {} folders", matched.size());
    if (last || found.urls.empty()) return {std::move(found.urls), std::move(description)};
    if (found.urls.size() > kMaxFolders) return list_everything(given, lister);
    matched = std::move(found.urls);
    at = slash + 1;
  }
}

}  // namespace

std::vector<std::string> match_objects(const std::string& pattern, std::vector<std::string> urls) {
  if (names_folders(pattern)) {
    urls = folders_of(pattern, urls);
    const std::string folder = pattern.substr(0, pattern.size() - 1);
    std::erase_if(urls, [&](const std::string& url) {
      return url != pattern && !matches(folder, url.substr(0, url.size() - 1));
    });
    return urls;
  }
  if (std::find(urls.begin(), urls.end(), pattern) != urls.end()) return {pattern};
  std::erase_if(urls, [&](const std::string& url) {
    return url.ends_with('/') || url.find(kIndexSuffix) != std::string::npos || !matches(pattern, url);
  });
  std::sort(urls.begin(), urls.end());
  return urls;
}

std::vector<std::string> glob_objects(const std::string& pattern, const ObjectLister& lister) {
  // An escaped '/' still separates folders, but the pattern cannot be split there.
  const bool splits = pattern.find("\\/") == std::string::npos;
  Candidates candidates = splits ? list_by_levels(pattern, lister) : list_everything(pattern, lister);
  std::vector<std::string> found = match_objects(pattern, std::move(candidates.urls));
  if (!found.empty()) return found;
  throw input_error("list {}: none of the {} matches", pattern, candidates.description);
}

}  // namespace unstarve
