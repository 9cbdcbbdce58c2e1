#include "unstarve/jobs/probe/io_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/json.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/core/random.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/io/batch_reader.h"
#include "unstarve/storage/source/shard_list.h"
#include "unstarve/storage/source/source.h"
#include "unstarve/storage/source/source_options.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kBlock = 4096;  // alignment required by O_DIRECT, and the smallest read
constexpr std::uint64_t kSizes[] = {kBlock, 32 * kBlock};
constexpr int kDepths[] = {1, 8, 64};
constexpr int kMostInFlight = 64;
constexpr std::size_t kMostFiles = 1000;  // of a large folder, evenly spaced
constexpr int kBatches = 4;               // batches of reads between checks of the clock

struct File {
  std::string path;
  std::uint64_t bytes = 0;
};

// Adds the file; returns whether it is large enough.
bool add_file(const fs::path& path, std::vector<File>& files) {
  std::error_code failed;
  const std::uint64_t bytes = fs::file_size(path, failed);
  if (failed || bytes < kBlock) return false;
  files.push_back({path.string(), bytes});
  return true;
}

// Up to kMostFiles files of at least one block, evenly spaced in folder order.
std::vector<File> files_of(const std::string& path) {
  std::vector<File> files;
  std::uint64_t smaller = 0;
  const auto add = [&](const fs::path& file) { smaller += add_file(file, files) ? 0 : 1; };
  for (const std::string& shard : list_shards(path)) {
    std::error_code failed;
    if (!fs::is_directory(shard, failed)) {
      if (!fs::exists(shard, failed)) throw io_error("open", shard, ENOENT);
      add(shard);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(shard, fs::directory_options::skip_permission_denied)) {
      if (entry.is_regular_file(failed)) add(entry.path());
    }
  }
  if (files.empty()) {
    throw Error(ErrorKind::kInput,
                fmt::format("inspect --io {}: found {}; expected files of at least 4 KiB, such as the data "
                            "or other files on that disk",
                            path, smaller == 0 ? "no files" : fmt::format("only {} smaller files", smaller)));
  }
  std::ranges::sort(files, [](const File& a, const File& b) { return a.path < b.path; });
  if (files.size() > kMostFiles) {
    std::vector<File> chosen;
    for (std::size_t i = 0; i < kMostFiles; ++i) chosen.push_back(files[i * files.size() / kMostFiles]);
    files = std::move(chosen);
  }
  return files;
}

struct Opened {
  FileDescriptor file;
  std::uint64_t blocks = 0;
};

// Opens with additional `flags`; empty if the file system does not support them.
std::vector<Opened> open_all(const std::vector<File>& files, int flags) {
  std::vector<Opened> opened;
  for (const File& file : files) {
    FileDescriptor descriptor(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | flags));
    if (!descriptor.valid()) {
      if (errno == EINVAL && flags != 0) return {};
      throw io_error("open", file.path, errno);
    }
    opened.push_back({std::move(descriptor), file.bytes / kBlock});
  }
  return opened;
}

class LocalProbe {
 public:
  LocalProbe(const std::vector<Opened>& files, double seconds) : files_(files), seconds_(seconds) {
    memory_.reserve_discard(kMostInFlight * kSizes[1] + kBlock);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    buffers_ = memory_.data() + (kBlock - address % kBlock) % kBlock;
  }

  IoRow measure(const char* from, std::uint64_t bytes, int depth) {
    const auto reader = open_batch_reader(BatchReaderKind::kBest, depth);
    reader_ = reader->name();
    std::vector<FileRead> reads(static_cast<std::size_t>(depth));
    IoRow row{from, bytes, depth, 0, 0};
    std::uint64_t done = 0;
    std::uint64_t got = 0;
    const auto start = Clock::now();
    double passed = 0;
    do {
      for (int batch = 0; batch < kBatches; ++batch) {
        for (std::size_t i = 0; i < reads.size(); ++i) choose(bytes, i, reads[i]);
        reader->read(reads);
        for (const FileRead& read : reads) {
          if (read.result < 0) throw io_error("read", "a file of the dataset", static_cast<int>(-read.result));
          got += static_cast<std::uint64_t>(read.result);
        }
        done += reads.size();
      }
      passed = std::chrono::duration<double>(Clock::now() - start).count();
    } while (passed < seconds_);
    row.reads_per_s = static_cast<double>(done) / passed;
    row.bytes_per_s = static_cast<double>(got) / passed;
    return row;
  }

  [[nodiscard]] const char* reader() const { return reader_; }

 private:
  // A random block of a random file, with equal weights; reads at the end of a file are shorter.
  void choose(std::uint64_t bytes, std::size_t slot, FileRead& read) {
    const Opened& file = files_[random_.below(static_cast<std::uint32_t>(files_.size()))];
    const auto block = static_cast<std::uint64_t>(random_.uniform(0, 1) * static_cast<double>(file.blocks));
    read.descriptor = file.file.get();
    read.offset = std::min(block, file.blocks - 1) * kBlock;
    read.out = {buffers_ + slot * kSizes[1], bytes};
    read.result = 0;
  }

  const std::vector<Opened>& files_;
  const double seconds_;
  Random random_{0, 0, 0, 0};
  AlignedBytes memory_;
  std::uint8_t* buffers_ = nullptr;
  const char* reader_ = "";
};

// Loads the files into the page cache.
void fill_page_cache(const std::vector<Opened>& files) {
  AlignedBytes buffer(kSizes[1]);
  for (const Opened& file : files) {
    for (std::uint64_t offset = 0; offset < file.blocks * kBlock; offset += kSizes[1]) {
      if (::pread(file.file.get(), buffer.data(), kSizes[1], static_cast<off_t>(offset)) <= 0) break;
    }
  }
}

void probe_local(double seconds, const Progress& progress, IoResult& result) {
  std::vector<File> files = files_of(result.path);
  // The amount that fits into the page cache without evicting everything else.
  constexpr std::uint64_t kMostBytes = std::uint64_t{2} << 30;
  for (const File& file : files) result.bytes += file.bytes;
  const double each = seconds / 12;
  double share = 0;
  const auto rows = [&](const char* from, const std::vector<Opened>& opened) {
    LocalProbe probe(opened, each);
    for (const std::uint64_t bytes : kSizes) {
      for (const int depth : kDepths) {
        if (progress) progress(fmt::format("{}, {} in flight", from, depth), share += 1.0 / 13);
        result.rows.push_back(probe.measure(from, bytes, depth));
      }
    }
    result.reader = probe.reader();
  };
  const std::vector<Opened> direct = open_all(files, O_DIRECT);
  if (direct.empty()) {
    result.note = "this file system does not support O_DIRECT, so the disk could not be measured";
  } else {
    rows("disk", direct);
  }
  while (files.size() > 1 && result.bytes > kMostBytes) {
    result.bytes -= files.back().bytes;
    files.pop_back();
  }
  result.files = files.size();
  const std::vector<Opened> cached = open_all(files, 0);
  if (result.bytes > kMostBytes) {
    result.note = "the file is larger than 2 GiB: only the disk was measured";
    return;
  }
  fill_page_cache(cached);
  rows("page cache", cached);
}

// The first object of a URL, pattern or bucket folder that is large enough for the large reads; else the largest of a
// few small ones.
std::shared_ptr<const ByteSource> choose_object(const std::string& path) {
  const Source source = inspect_source(path);
  std::vector<std::string> urls = source.files;
  for (const std::string& name : source.listing.files) urls.push_back(source.path + "/" + name);
  constexpr std::size_t kMostObjects = 16;
  urls.resize(std::min(urls.size(), kMostObjects));
  std::shared_ptr<const ByteSource> chosen;
  for (const std::string& url : urls) {
    std::shared_ptr<const ByteSource> object = url == source.first_path ? source.first : open_bytes(url);
    if (!chosen || object->size() > chosen->size()) chosen = std::move(object);
    if (chosen->size() >= kSizes[1]) return chosen;
  }
  if (chosen && chosen->size() >= kBlock) return chosen;
  throw Error(ErrorKind::kInput,
              "inspect --io " + shown_name(path) + ": found no object of at least 4 KiB; " +
                  (source.folder ? "the folder contains " + describe(source.listing) : "give the URL of a larger one"));
}

void probe_remote(const std::string& path, double seconds, const Progress& progress, IoResult& result) {
  const std::shared_ptr<const ByteSource> source = choose_object(path);
  if (source->name() != result.path) result.note = "measured by " + source->name();
  result.reader = "ranges";
  result.files = 1;
  result.bytes = source->size();
  Random random(0, 0, 0, 0);
  std::vector<std::uint8_t> memory(kMostInFlight * kSizes[1]);
  double share = 0;
  for (const std::uint64_t bytes : kSizes) {
    if (bytes > source->size()) continue;
    for (const int depth : kDepths) {
      if (progress) progress(fmt::format("{} ranges in flight", depth), share += 1.0 / 7);
      std::uint64_t done = 0;
      const auto start = Clock::now();
      double passed = 0;
      do {
        std::vector<ReadRange> ranges;
        for (int i = 0; i < depth; ++i) {
          const auto room = static_cast<double>(source->size() - bytes);
          ranges.push_back({static_cast<std::uint64_t>(random.uniform(0, 1) * room),
                            std::span(memory).subspan(static_cast<std::size_t>(i) * kSizes[1], bytes)});
        }
        source->read_many(ranges);
        done += ranges.size();
        passed = std::chrono::duration<double>(Clock::now() - start).count();
      } while (passed < seconds / 6);
      const double rate = static_cast<double>(done) / passed;
      result.rows.push_back({"remote", bytes, depth, rate, rate * static_cast<double>(bytes)});
    }
  }
}

}  // namespace

IoResult run_io_probe(const std::string& path, double seconds, const Progress& progress) {
  for (const char* const generated : {"synthetic", "sleep"}) {
    if (SourceOptions::names(path, generated))
      throw Error(ErrorKind::kArgument,
                  fmt::format("inspect --io {}: generated samples are not read from storage; expected files, a "
                              "folder or a URL",
                              path));
  }
  IoResult result;
  result.path = shown_name(path);
  if (is_url(path)) {
    probe_remote(path, seconds, progress, result);
  } else {
    probe_local(seconds, progress, result);
  }
  return result;
}

std::string to_json(const IoResult& result) {
  nlohmann::ordered_json json;
  json["path"] = result.path;
  json["reader"] = result.reader;
  json["files"] = result.files;
  json["bytes"] = result.bytes;
  json["note"] = result.note;
  json["rows"] = nlohmann::ordered_json::array();
  for (const IoRow& row : result.rows) {
    json["rows"].push_back({{"from", row.from},
                            {"bytes", row.bytes},
                            {"in_flight", row.in_flight},
                            {"reads_per_s", row.reads_per_s},
                            {"bytes_per_s", row.bytes_per_s}});
  }
  return json_text(json, 2);
}

std::string to_text(const IoResult& result) {
  std::string text = fmt::format("{}: {} files, {}, by {}\n", printable(result.path), result.files,
                                 format_bytes(result.bytes), result.reader);
  text += "  from        read    in flight     reads/s      MB/s\n";
  for (const IoRow& row : result.rows) {
    text += fmt::format("  {} {} {:>8} {} {}\n", pad_right(row.from, 11), pad_right(format_bytes(row.bytes), 9),
                        row.in_flight, pad_left(format_rate(row.reads_per_s), 11),
                        pad_left(format_rate(row.bytes_per_s / 1e6), 9));
  }
  if (!result.note.empty()) text += "  " + result.note + "\n";
  return text;
}

}  // namespace unstarve
