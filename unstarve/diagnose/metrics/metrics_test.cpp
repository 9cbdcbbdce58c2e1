#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/metrics/metrics_server.h"
#include "unstarve/diagnose/metrics/metrics_text.h"

namespace unstarve {
namespace {

using Catch::Contains;

// What a server on the loopback answers; the connection is closed by it.
std::string answer(std::uint16_t port, const std::string& request) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(send(client, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
  std::string text;
  char buffer[4096];
  for (ssize_t size = 0; (size = recv(client, buffer, sizeof buffer, 0)) > 0;)
    text.append(buffer, static_cast<std::size_t>(size));
  close(client);
  return text;
}

TEST_CASE("addresses of the metrics") {
  CHECK(metrics_address(":9400").port == 9400);
  CHECK(metrics_address("9400").host == "0.0.0.0");
  CHECK(metrics_address("127.0.0.1:80").host == "127.0.0.1");
  CHECK(metrics_address("localhost:80").host == "127.0.0.1");
  for (const char* text : {"", ":", "host", ":99999", "example.org:80", "1.2.3.4:", ":80x", "::1:80"})
    CHECK_THROWS_AS(metrics_address(text), Error);
}

TEST_CASE("the server answers, and outlives wrong and slow clients") {
  int made = 0;
  MetricsServer server({"127.0.0.1", 0}, [&] { return "figure " + std::to_string(++made) + "\n"; });
  CHECK_THAT(answer(server.port(), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
             Contains("200 OK") && Contains("version=0.0.4") && Contains("figure 1\n"));
  CHECK_THAT(answer(server.port(), "GET / HTTP/1.1\r\n\r\n"), Contains("404"));
  CHECK_THAT(answer(server.port(), "POST /metrics HTTP/1.1\r\n\r\n"), Contains("405"));
  CHECK(answer(server.port(), "GET /metrics HTTP/1.1\r\n").empty());  // waits for the rest, in vain
  CHECK(answer(server.port(), std::string(40'000, 'x')).empty());
  CHECK_THAT(answer(server.port(), "GET /metrics?x=1 HTTP/1.1\r\n\r\n"), Contains("figure 2\n"));
  CHECK_THROWS_AS(MetricsServer({"127.0.0.1", server.port()}, [] { return ""; }), Error);
}

TEST_CASE("metrics of a run") {
  RunProfile profile;
  profile.watching.seconds = 12;
  profile.machine.affinity_cores = 4;
  ProcessUse loader;
  loader.role = ProcessRole::kLoader;
  loader.cpu_s = 3;
  loader.resident_bytes = 1000;
  profile.processes = {loader, loader};
  profile.processes[0].pid = 4711;
  profile.processes[1].pid = 4712;
  profile.processes[1].ended = true;
  profile.steps = {"un.step()", 2, {0.5, 0.5}, 3};
  profile.gpus.resize(2);
  profile.gpus[1].index = 1;
  profile.gpus[1].utilisation_p50 = 0.75;
  const std::vector<RunFinding> findings{{"few-workers", "", "", "", 0.4, 2}};
  RunCounters counters;
  counters.add(profile);
  const std::string text = metrics_text(profile, counters, findings);
  for (const char* line :
       {"unstarve_watched_seconds 12\n", "unstarve_processes{role=\"loader\"} 1\n",
        "unstarve_cpu_seconds_total{role=\"loader\"} 6\n", "unstarve_usable_cores 4\n",
        "unstarve_gpu_utilisation_ratio{gpu=\"1\"} 0.75\n", "unstarve_resident_bytes{role=\"loader\"} 1000\n",
        "unstarve_steps_total 3\n", "unstarve_step_seconds{quantile=\"0.5\"} 0.5\n",
        "unstarve_finding_lost_ratio{rule=\"few-workers\"} 0.4\n", "# TYPE unstarve_cpu_seconds_total counter\n"})
    CHECK_THAT(text, Contains(line));
  CHECK_THAT(text, !Contains("main_thread_ratio"));  // no stacks
  profile.steps = {"the period", 2, {}, 0};
  CHECK_THAT(metrics_text(profile, {}, {}), Contains("unstarve_steps_per_second 2\n") && !Contains("step_seconds"));
}

}  // namespace
}  // namespace unstarve
