#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/utf8.h"
#include "unstarve/observe/format.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve::cli {
namespace {

constexpr std::int64_t kRedrawNs = 100'000'000;
constexpr int kBarColumns = 30, kLeastBarColumns = 10;

bool output_closed = false;
std::optional<Error> output_error;  // the first one of print_output()

int columns_of(int descriptor, int fallback) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : fallback;
}

// The words of a notice without paths and numbers: notices about several files are of one kind.
std::string kind_of(const std::string& text) {
  std::istringstream words(text);
  std::string kind;
  for (std::string word; words >> word;)
    if (word.find_first_of("/0123456789") == std::string::npos) kind += word + " ";
  return kind;
}

// Names from files in an error may control the terminal, or not be UTF-8. Lines of the message stay.
std::string printable_lines(const std::string& message) {
  std::istringstream lines(message);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (!is_utf8(line))
      std::ranges::replace_if(
          line, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
    text += (text.empty() ? "" : "\n") + printable(line);
  }
  return text;
}

}  // namespace

ProgressBar::ProgressBar() : terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (terminal_ && shown_ns_ != 0) print_to_stderr("\r\x1b[K");
}

void ProgressBar::show(std::string_view what, double share) {
  if (!terminal_) return;
  const std::int64_t now = steady_clock().now_ns();
  share = std::clamp(share, 0.0, 1.0);
  if (shown_ns_ == 0 || share == 0) {
    start_ns_ = now;
    first_share_ = share;
  }
  if (what == shown_what_ && now - shown_ns_ < kRedrawNs) return;
  shown_ns_ = now;
  shown_what_ = what;
  const double elapsed = static_cast<double>(now - start_ns_) / 1e9;
  const double done = share - first_share_;
  std::string label = fmt::format(" {:3.0f} %", 100 * share);
  // An early estimate would be unreliable.
  if (done > 0.03) label += fmt::format("  {} left", format_duration(elapsed / done * (1 - share)));
  label += "  " + printable(what);
  // On a narrow terminal the bar shrinks, not the label.
  const int columns = std::max(1, columns_of(STDERR_FILENO, 80) - 1);
  const int bar = std::clamp(columns - static_cast<int>(text_width(label)), kLeastBarColumns, kBarColumns);
  const int filled = static_cast<int>(share * bar);
  const std::string line = fmt::format("{:#>{}}{:->{}}{}", "", filled, "", bar - filled, label);
  print_to_stderr("\r\x1b[K" + clip(line, static_cast<std::size_t>(columns)));
}

Notices::Notices() {
  set_notice_sink([this](const std::string& text) {
    if (!seen_.insert(text).second || !kinds_.insert(kind_of(text)).second) return;
    // Clear the progress bar, which is redrawn later.
    print_to_stderr(
        fmt::format("{}unstarve: warning: {}\n", isatty(STDERR_FILENO) != 0 ? "\r\x1b[K" : "", printable(text)));
  });
}

Notices::~Notices() {
  set_notice_sink({});
  if (seen_.size() > kinds_.size())
    print_to_stderr(fmt::format("unstarve: warning: and {} more like {}\n", seen_.size() - kinds_.size(),
                                kinds_.size() == 1 ? "it" : "these"));
}

void print_output(const std::string& text) {
  if (output_closed || output_error) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  output_closed = errno == EPIPE;
  if (!output_closed) output_error = io_error("writing", "standard output", errno);
}

void throw_output_error() {
  if (const std::optional<Error> error = std::exchange(output_error, std::nullopt)) throw *error;
}

bool output_is_closed() { return output_closed; }

void print_to_stderr(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void print_error(bool json, const char* kind, const std::string& message) {
  const nlohmann::json error{{"error", {{"kind", kind}, {"message", message}}}};
  // A message may contain names of files, or text of damaged files, that are not UTF-8.
  if (json) std::puts(json_text(error).c_str());
  print_to_stderr(fmt::format("unstarve: {}\n", printable_lines(message)));
}

int terminal_width() { return isatty(STDOUT_FILENO) ? columns_of(STDOUT_FILENO, 120) : 120; }

}  // namespace unstarve::cli
