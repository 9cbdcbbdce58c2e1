#include "unstarve/diagnose/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <thread>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/diagnose/metrics/metrics_text.h"

namespace unstarve {
namespace {

constexpr double kPatience = 2;  // seconds
constexpr std::size_t kLargestRequest = 16 << 10;

std::string response(std::string_view status, std::string_view type, std::string_view body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                     type, body.size(), body);
}

}  // namespace

MetricsAddress metrics_address(const std::string& text) {
  MetricsAddress address;
  const std::size_t colon = text.rfind(':');
  const std::string_view port = std::string_view(text).substr(colon == std::string::npos ? 0 : colon + 1);
  if (colon != std::string::npos && colon > 0) address.host = text.substr(0, colon);
  if (address.host == "localhost") address.host = "127.0.0.1";
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  in_addr parsed{};
  if (error != std::errc() || end != port.data() + port.size() || address.port == 0 ||
      inet_pton(AF_INET, address.host.c_str(), &parsed) != 1) {
    throw Error(
        ErrorKind::kArgument,
        fmt::format(
            "--metrics: found \"{}\"; expected [HOST]:PORT with an IPv4 address and a port above 0, such as :9400",
            text));
  }
  return address;
}

class MetricsServer::State {
 public:
  State(const MetricsAddress& address, std::function<std::string()> text)
      : text_(std::move(text)),
        socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        stop_(::eventfd(0, EFD_CLOEXEC)) {
    const std::string name = fmt::format("{}:{}", address.host, address.port);
    sockaddr_in bound{};
    bound.sin_family = AF_INET;
    bound.sin_port = htons(address.port);
    inet_pton(AF_INET, address.host.c_str(), &bound.sin_addr);
    const int yes = 1;
    socklen_t size = sizeof bound;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (!socket_.valid() || !stop_.valid() ||
        ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&bound), sizeof bound) != 0 ||
        ::listen(socket_.get(), 8) != 0 ||
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
      throw io_error("listen", name, errno);
    port_ = ntohs(bound.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~State() {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    thread_.join();
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  // Whether `descriptor` is ready for `events`; false at the deadline or at the end.
  [[nodiscard]] bool await(int descriptor, short events, double deadline) const {
    std::array<pollfd, 2> polled{{{descriptor, events, 0}, {stop_.get(), POLLIN, 0}}};
    const double rest = deadline - seconds_now();
    if (rest <= 0) return false;
    const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(rest * 1e3) + 1);
    return ready > 0 && polled[1].revents == 0 && polled[0].revents != 0;
  }
  [[nodiscard]] bool stopped() const {
    pollfd polled{stop_.get(), POLLIN, 0};
    return ::poll(&polled, 1, 0) > 0;
  }

  void serve() {
    while (!stopped()) {
      if (!await(socket_.get(), POLLIN, seconds_now() + 60)) continue;
      const FileDescriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (client.valid()) answer(client.get());
    }
  }

  void answer(int client) const {
    const double deadline = seconds_now() + kPatience;
    std::string request;
    while (request.find("\r\n\r\n") == std::string::npos) {
      char buffer[4096];
      if (request.size() > kLargestRequest || !await(client, POLLIN, deadline)) return;
      const ssize_t size = ::recv(client, buffer, sizeof buffer, 0);
      if (size <= 0) return;
      request.append(buffer, static_cast<std::size_t>(size));
    }
    const std::string_view line = std::string_view(request).substr(0, request.find("\r\n"));
    std::string text;
    if (!line.starts_with("GET "))
      text = response("405 Method Not Allowed", "text/plain", "GET only\n");
    else if (line.starts_with("GET /metrics ") || line.starts_with("GET /metrics?"))
      text = response("200 OK", kMetricsType, text_());
    else
      text = response("404 Not Found", "text/plain", "the metrics are at /metrics\n");
    for (std::size_t sent = 0; sent < text.size();) {
      if (!await(client, POLLOUT, deadline)) return;
      const ssize_t size = ::send(client, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (size <= 0) return;
      sent += static_cast<std::size_t>(size);
    }
  }

  const std::function<std::string()> text_;
  const FileDescriptor socket_, stop_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

MetricsServer::MetricsServer(const MetricsAddress& address, std::function<std::string()> text)
    : state_(std::make_unique<State>(address, std::move(text))) {}
MetricsServer::~MetricsServer() = default;
std::uint16_t MetricsServer::port() const { return state_->port(); }

}  // namespace unstarve
