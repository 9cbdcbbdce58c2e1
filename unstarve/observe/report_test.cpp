#include "unstarve/observe/report.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/observe/html.h"
#include "unstarve/observe/report_assets.h"
#include "unstarve/observe/report_tables.h"

using namespace unstarve;
namespace fs = std::filesystem;

namespace {

constexpr const char* kAttack = "</script><script>alert(1)</script>\"'&";

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

Report report_of_one() {
  Report report;
  report.title = "unstarve tune photos/";
  report.created = "2026-11-21T08:00:00Z";
  report.version = "0.1.0";
  ReportSection section;
  section.ledger.title = "training";
  LedgerEntry base;
  base.name = "plain settings";
  base.samples_per_s = 273;
  base.batch = 32;
  LedgerEntry faster = base;
  faster.name = "channels-last";
  faster.verdict = Verdict::kKept;
  faster.samples_per_s = 395;
  faster.ratio = {1.44, 1.42, 1.46, 8};
  section.ledger.entries = {base, faster};
  section.verdict = "the network is the bottleneck";
  report.sections.push_back(section);
  return report;
}

fs::path fresh_folder(const char* name) {
  const fs::path folder = fs::temp_directory_path() / (std::string("unstarve-report-") + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

}  // namespace

TEST_CASE("the tiles count measured steps and show the final comparison", "[report]") {
  Report report = report_of_one();
  Ledger& ledger = report.sections[0].ledger;
  ledger.entries.push_back({});
  ledger.entries.back().name = "not enough time";
  ledger.entries.back().verdict = Verdict::kUndecided;
  report.sections[0].total = RatioInterval{1.04, 0.96, 1.13, 8};
  CHECK_THAT(render_report(report),
             Catch::Contains("<b>1 of 1</b>") && Catch::Contains("the plain settings [0.96, 1.13]"));
  ledger.entries[1].verdict = Verdict::kReverted;
  CHECK_THAT(render_report(report),
             Catch::Contains("<b>0 of 1</b>") && Catch::Contains("the plain settings [0.96, 1.13]"));
}

TEST_CASE("the page contains figures, text, scripts and styles, and fetches nothing", "[report]") {
  const std::string html = render_report(report_of_one());
  for (const char* part : {"unstarve tune photos/", "2026-11-21 08:00 UTC", "channels-last", "273 → 395 samples/s",
                           "[1.42, 1.46]", "the network is the bottleneck", "var uPlot=", "Leon Sorokin"}) {
    CAPTURE(part);
    CHECK(html.find(part) != std::string::npos);
  }
  CHECK(html.find("src=") == std::string::npos);
  CHECK(html.find("@import") == std::string::npos);
  CHECK(html.find("url(http") == std::string::npos);
}

TEST_CASE("figures link to the command of their section, else to that of the report", "[report]") {
  Report report = report_of_one();
  CHECK(render_report(report).find("href=\"#command") == std::string::npos);
  report.command = "unstarve tune photos/";
  std::string html = render_report(report);
  CHECK(occurrences(html, "id=\"command\"") == 1);
  CHECK(occurrences(html, "href=\"#command\"") == 4);  // two tiles, chart, table
  report.sections[0].command = "unstarve tune photos/ --minutes 1";
  html = render_report(report);
  CHECK(occurrences(html, "href=\"#command\"") == 0);
  CHECK(occurrences(html, "href=\"#command-1\"") == 4);
  CHECK(occurrences(html, "id=\"command-1\"") == 1);
}

TEST_CASE("a comparison that was not measured shows the reason and no figure", "[report]") {
  Report report = report_of_one();
  report.comparison = Comparison{};
  report.comparison->note = "too noisy; measure longer";
  report.comparison->left_out = {"package pillow not found"};
  report.left_out = {"training run left out"};
  const std::string html = render_report(report);
  CHECK(html.find("package pillow not found") != std::string::npos);
  CHECK(html.find("training run left out") != std::string::npos);
  CHECK(html.find("too noisy; measure longer") != std::string::npos);
  CHECK(html.find("class=\"headline\"") == std::string::npos);
  CHECK(html.find("command-comparison") == std::string::npos);
}

TEST_CASE("untrusted text never becomes markup", "[report]") {
  const std::size_t scripts = occurrences(render_report(report_of_one()), "<script");
  Report report = report_of_one();
  report.title = report.command = report.created = report.version = kAttack;
  report.machine.cpu_model = report.machine.kernel = report.machine.governor = kAttack;
  report.machine.instruction_sets = {kAttack};
  ReportSection& section = report.sections[0];
  section.verdict = section.ledger.title = kAttack;
  section.ledger.entries[1].name = section.ledger.entries[1].change = section.ledger.entries[1].reason = kAttack;
  section.before = Profile{};
  section.before->step = {{kAttack, 1, 1, 1}};
  section.before->stages = {{kAttack, 1, 1, 1}};
  const std::string html = render_report(report);
  CHECK(occurrences(html, "<script") == scripts);
  CHECK(occurrences(html, "</script") == scripts);
  CHECK(html.find("alert(1)") != std::string::npos);
  CHECK(html.find("<script>alert") == std::string::npos);
}

TEST_CASE("escaping keeps the text and cannot end an attribute, element or script", "[report]") {
  CHECK(escape_html("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(escape_html(std::string_view("a\0b", 3)) ==
        "a\xEF\xBF\xBD"
        "b");
  CHECK(escape_html("a\x1b\n\xff\xC3\xA9") == "a\xEF\xBF\xBD\n\xEF\xBF\xBD\xC3\xA9");
  const std::string island = escape_json_island(R"({"name":"</script><!--"})");
  CHECK(island.find('<') == std::string::npos);
  CHECK(parse_json(island)["name"] == "</script><!--");
}

TEST_CASE("the charts show the figures of the ledger", "[report]") {
  Report report = report_of_one();
  report.sections[0].ledger.entries[1].ratio.high = std::numeric_limits<double>::infinity();
  report.sections[0].after = Profile{};
  const auto island = parse_json(report_island(report));
  REQUIRE(island["sections"].size() == 1);
  const auto& section = island["sections"][0];
  CHECK(section["ledger"]["rungs"][1]["samples_per_s"] == 395.0);
  CHECK(section["ledger"]["rungs"][1]["high"].is_null());
  CHECK(section["before"].is_null());
  CHECK(section["after"]["version"] == kProfileVersion);
}

TEST_CASE("an empty report is a valid page", "[report]") {
  const std::string html = render_report(Report{});
  CHECK(html.find("<h2>Machine</h2>") != std::string::npos);
  CHECK(html.find("data-chart=\"") == std::string::npos);

  Report report;
  report.sections.resize(1);
  report.sections[0].before = Profile{};
  CHECK(render_report(report).find("data-chart=\"") == std::string::npos);
  CHECK(render_report(report).find("<h2>Measurement</h2>") != std::string::npos);
}

TEST_CASE("the embedded plotting library has the pinned version", "[report]") {
  CHECK(plot_library().find("(v1.6.32)") != std::string_view::npos);
  CHECK(report_script().find("drawLadder") != std::string_view::npos);
  CHECK(report_style().find("--kept") != std::string_view::npos);
  CHECK(plot_licence().find("MIT") != std::string_view::npos);
  for (const std::string_view text : {report_script(), plot_library()}) {
    CHECK(text.find("</script") == std::string_view::npos);
  }
}

TEST_CASE("a report is written completely or not at all", "[report]") {
  const fs::path folder = fresh_folder("write");
  write_report(report_of_one(), folder / "report.html");
  CHECK(read_text_file(folder / "report.html") == render_report(report_of_one()));

  try {
    write_report(report_of_one(), folder / "missing" / "report.html");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kIo);
    CHECK(std::string(error.what()).find("missing") != std::string::npos);
  }
  fs::create_directory(folder / "taken");
  CHECK_THROWS_AS(write_report(report_of_one(), folder / "taken"), Error);
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 2);
  fs::remove_all(folder);
}
