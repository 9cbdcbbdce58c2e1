// Runs a fuzz target over its corpus without libFuzzer: every file unchanged, then deterministic mutations of the
// files.
//
//   NAME_fuzz FOLDER [MUTATIONS]    every file of FOLDER, then MUTATIONS (default 2,000) mutations of them
//   NAME_fuzz FILE                  this input only
//
// In builds without a sanitizer, inputs and AlignedBytes end at a guard page. A mutation depends only on its number, so
// failures are reproducible. If the target crashes, the input is written to crash-NAME_fuzz in the working directory
// and a message names it. An empty corpus is a failure.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/core/memory/guarded_memory.h"
#include "unstarve/core/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Defined in programs built with AddressSanitizer, which ends the process without raising a signal.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

// The current input, for the signal handlers.
const std::uint8_t* g_data = nullptr;
std::size_t g_size = 0;
std::string g_what, g_crash_name;

// Uses only async-signal-safe calls.
void save_input() {
  if (g_data == nullptr) return;
  const int fd = ::open(g_crash_name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool written = fd >= 0;
  for (std::size_t offset = 0; written && offset < g_size;) {
    const ssize_t n = ::write(fd, g_data + offset, g_size - offset);
    written = n > 0;
    if (written) offset += static_cast<std::size_t>(n);
  }
  if (fd >= 0) ::close(fd);
  for (const std::string& part : {g_what,
                                  std::string(written ? ": crashed the target; input saved to "
                                                      : ": crashed the target; "
                                                        "the input could not be saved to "),
                                  g_crash_name}) {
    if (::write(STDERR_FILENO, part.data(), part.size()) < 0) return;
  }
  if (::write(STDERR_FILENO, "\n", 1) < 0) return;
  g_data = nullptr;
}

void on_signal(int number) {
  save_input();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

// A block of exactly the size of the input, so that the sanitizer or the guard page detects any read beyond its end.
#ifdef UNSTARVE_GUARD_PAGES
class Exact {
 public:
  explicit Exact(const Bytes& input) : memory_(input.size()) { std::ranges::copy(input, memory_.bytes().begin()); }
  [[nodiscard]] const std::uint8_t* data() const { return memory_.bytes().data(); }

 private:
  unstarve::GuardedBytes memory_;
};

void check_guard_pages() {
  if (unstarve::AlignedBytes::capacity_for(unstarve::AlignedBytes::kMapped + 1) % 4096 != 0) return;
  throw unstarve::Error(unstarve::ErrorKind::kInternal, "AlignedBytes has no guard pages: see CMakeLists.txt");
}
#else
using Exact = Bytes;
void check_guard_pages() {}
#endif

void run(const Bytes& input, std::string what) {
  const Exact exact(input);
  g_what = std::move(what);
  g_size = input.size();
  g_data = exact.data() != nullptr ? exact.data() : reinterpret_cast<const std::uint8_t*>("");
  LLVMFuzzerTestOneInput(g_data, g_size);
  g_data = nullptr;
}

// Makes one to four changes: truncate, flip a bit, set a byte to an interesting value, remove or repeat a piece, insert
// a piece of another file.
Bytes mutate(const std::vector<Bytes>& corpus, std::size_t file, std::uint64_t number) {
  constexpr std::uint8_t kInteresting[] = {0x00, 0x01, 0x7f, 0x80, 0xd8, 0xff};
  unstarve::Random random(0x66757a7a, 0, number, 0);
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(n)));
  };
  Bytes bytes = corpus[file];
  for (std::size_t change = 1 + below(4); change > 0; --change) {
    const std::size_t offset = bytes.empty() ? 0 : below(bytes.size());
    const std::size_t length = bytes.empty() ? 0 : 1 + below(std::min<std::size_t>(bytes.size() - offset, 64));
    const auto position = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    switch (bytes.empty() ? 5 : below(6)) {
      case 0: bytes.resize(offset); break;
      case 1: bytes[offset] = static_cast<std::uint8_t>(bytes[offset] ^ (1u << below(8))); break;
      case 2: bytes[offset] = kInteresting[below(std::size(kInteresting))]; break;
      case 3: bytes.erase(position, position + static_cast<std::ptrdiff_t>(length)); break;
      case 4: {
        const Bytes piece(position, position + static_cast<std::ptrdiff_t>(length));
        bytes.insert(position, piece.begin(), piece.end());
        break;
      }
      default: {
        const Bytes& other = corpus[below(corpus.size())];
        if (other.empty()) break;
        const std::size_t from = below(other.size());
        const std::size_t piece = std::min(other.size() - from, 1 + below(256));
        const auto begin = other.begin() + static_cast<std::ptrdiff_t>(from);
        bytes.insert(position, begin, begin + static_cast<std::ptrdiff_t>(piece));
      }
    }
  }
  return bytes;
}

Bytes read_bytes(const fs::path& path) {
  const std::string text = unstarve::read_text_file(path);
  return {text.begin(), text.end()};
}

int replay(const fs::path& corpus_path, std::uint64_t mutations) {
  std::vector<fs::path> paths;
  if (fs::is_directory(corpus_path)) {
    for (const auto& entry : fs::directory_iterator(corpus_path)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
  } else {
    paths.push_back(corpus_path);
    mutations = 0;
  }
  if (paths.empty()) throw unstarve::Error(unstarve::ErrorKind::kInput, corpus_path.string() + ": the corpus is empty");
  std::vector<Bytes> corpus;
  for (const fs::path& path : paths) {
    corpus.push_back(read_bytes(path));
    run(corpus.back(), path.string());
  }
  for (std::uint64_t number = 0; number < mutations; ++number) {
    const std::size_t file = number % corpus.size();
    run(mutate(corpus, file, number), paths[file].string() + ", mutation " + std::to_string(number));
  }
  std::printf("%zu files and %llu mutations\n", corpus.size(), static_cast<unsigned long long>(mutations));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s FOLDER [MUTATIONS] | FILE\n", argv[0]);
    return 2;
  }
  g_crash_name = "crash-" + fs::path(argv[0]).filename().string();
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(number, on_signal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(save_input);
  try {
    check_guard_pages();
    return replay(argv[1], argc == 3 ? std::stoull(argv[2]) : 2000);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", g_what.empty() ? argv[0] : g_what.c_str(), e.what());
    save_input();
    return 1;
  }
}
