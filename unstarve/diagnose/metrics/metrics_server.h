#pragma once
// Serves a text at http://ADDRESS/metrics to a Prometheus server, from a thread of its own.
//
// One connection at a time, GET only, no TLS; a client that is silent for two seconds is disconnected. That is all that
// a scraper needs, so no HTTP library is linked.
//
// Threads: the text is made in the server's thread. Failure: the constructor throws Error(kArgument) for an address of
// another form and Error(kIo) if it cannot listen there; later failures end a connection only.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace unstarve {

struct MetricsAddress {
  std::string host = "0.0.0.0";  // IPv4
  std::uint16_t port = 0;
};

// ":9400", "9400" or "127.0.0.1:9400". Throws Error(kArgument).
[[nodiscard]] MetricsAddress metrics_address(const std::string& text);

class MetricsServer {
 public:
  MetricsServer(const MetricsAddress& address, std::function<std::string()> text);
  ~MetricsServer();  // disconnects and stops
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;  // that the system chose, for port 0

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace unstarve
