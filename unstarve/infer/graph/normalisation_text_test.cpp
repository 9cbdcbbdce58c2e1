#include "unstarve/infer/graph/normalisation_text.h"

#include <catch2/catch.hpp>
#include <string>

#include "unstarve/core/testing/error_message.h"

namespace unstarve::infer {

TEST_CASE("a normalisation as text is exact") {
  CHECK(text_of(kImagenetNormalisation) == "0.485 0.456 0.406 0.229 0.224 0.225");
  for (const Normalisation& each : {Normalisation(), kImagenetNormalisation, kCifar10Normalisation,
                                    Normalisation{{1.F / 3, -1e-7F, 0}, {1e-20F, 3, 1e9F}}})
    CHECK(parse_normalisation(text_of(each)) == each);
}

TEST_CASE("other text is an error that shows it") {
  for (const char* text :
       {"", " ", "0 0 0", "0 0 0 1 1", "0 0 0 1 1 0", "0 0 0 1 1 -1", "0 0 0 1 1 1 1", "0 0 0 1 1 1 ", " 0 0 0 1 1 1",
        "0  0 0 1 1 1", "0,0,0,1,1,1", "nan 0 0 1 1 1", "0 0 0 1 1 inf", "a 0 0 1 1 1"}) {
    CAPTURE(text);
    CHECK(unstarve::testing::error_message([&] { (void)parse_normalisation(text); }) ==
          "found \"" + std::string(text) +
              "\" as unstarve.normalisation; expected three means and three positive standard deviations");
  }
}

}  // namespace unstarve::infer
