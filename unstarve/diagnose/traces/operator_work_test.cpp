#include "unstarve/diagnose/traces/operator_work.h"

#include <catch2/catch.hpp>

namespace unstarve {

TEST_CASE("operations of matrix products") {
  CHECK(operations_of("aten::mm", {{{3, 5}, {5, 7}}, {}, "float"}) == 2 * 3 * 5 * 7);
  CHECK(operations_of("aten::addmm", {{{7}, {3, 5}, {5, 7}, {}, {}}, {}, "float"}) == 2 * 3 * 5 * 7);
  CHECK(operations_of("aten::bmm", {{{4, 3, 5}, {4, 5, 7}}, {}, "float"}) == 2 * 4 * 3 * 5 * 7);
  CHECK(operations_of("aten::baddbmm", {{{4, 3, 7}, {4, 3, 5}, {4, 5, 7}}, {}, "float"}) == 2 * 4 * 3 * 5 * 7);
  CHECK(operations_of("aten::matmul", {{{3, 5}, {5, 7}}, {}, "float"}) == 0);  // calls aten::mm
  for (const std::vector<TensorShape>& shapes :
       std::vector<std::vector<TensorShape>>{{}, {{3, 5}}, {{3, 5}, {6, 7}}, {{5}, {5}}, {{3, 5}, {1, 5, 7}}})
    CHECK(operations_of("aten::mm", {shapes, {}, "float"}) == 0);
}

TEST_CASE("sizes that are multiples of 8") {
  CHECK(is_aligned("aten::mm", {{{3, 16}, {16, 8}}, {}, ""}, 8));  // any number of rows
  CHECK_FALSE(is_aligned("aten::mm", {{{8, 16}, {16, 10}}, {}, ""}, 8));
  CHECK_FALSE(is_aligned("aten::addmm", {{{8}, {8, 15}, {15, 8}}, {}, ""}, 8));
  CHECK(is_aligned("aten::convolution", {{{8, 3, 32, 32}, {64, 3, 3, 3}}, {}, ""}, 8));  // images
  CHECK_FALSE(is_aligned("aten::convolution", {{{8, 64, 32, 32}, {100, 64, 3, 3}}, {}, ""}, 8));
  CHECK_FALSE(is_aligned("aten::convolution", {{{8, 12, 32, 32}, {64, 12, 3, 3}}, {}, ""}, 8));
  CHECK(is_aligned("aten::convolution_backward", {{{8, 100, 32, 32}, {8, 64, 32, 32}, {64, 64, 3, 3}}, {}, ""}, 8));
  CHECK(is_aligned("aten::add", {{{3}, {5}}, {}, ""}, 8));
  for (const std::vector<TensorShape>& shapes :
       std::vector<std::vector<TensorShape>>{{}, {{3, 5}}, {{}, {}}, {{8, 6, 3}}})
    for (const char* const name : {"aten::mm", "aten::addmm", "aten::convolution", "aten::convolution_backward"})
      CHECK(is_aligned(name, {shapes, {}, ""}, 8));
}

TEST_CASE("operations of convolutions, forward and backward") {
  const TensorShape input{8, 6, 32, 30}, weight{12, 2, 3, 5};  // 3 groups
  const std::vector<std::string> values{"", "", "", "[2, 1]", "[1, 2]", "[1, 2]", "False", "[0, 0]", "3"};
  // Rows: (32 + 2 - 3) / 2 + 1 = 16; columns: 30 + 4 - 9 + 1 = 26.
  const double operations = 2.0 * 8 * 16 * 26 * 12 * 2 * 3 * 5;
  CHECK(operations_of("aten::convolution", {{input, weight, {12}}, values, "float"}) == operations);
  const auto backward = [&](const char* mask) {
    return operations_of("aten::convolution_backward",
                         {{{8, 12, 16, 26}, input, weight},
                          {"", "", "", "[12]", "[2, 1]", "[1, 2]", "[1, 2]", "False", "[0, 0]", "3", mask},
                          "float"});
  };
  CHECK(backward("[True, True, False]") == 2 * operations);
  CHECK(backward("[False, True, True]") == operations);
  CHECK(backward("[True, False, True]") == operations);
  CHECK(backward("[False, False, True]") == 0);
  // A transposed one: each element of the input is multiplied by all of the weight's for its channel.
  CHECK(operations_of("aten::convolution",
                      {{{2, 4, 5}, {4, 6, 3}}, {"", "", "", "[2]", "[0]", "[1]", "True", "[0]", "1"}, "float"}) ==
        2.0 * 2 * 5 * 4 * 6 * 3);
}

TEST_CASE("shapes of convolutions that do not fit have no operations") {
  const std::vector<std::string> values{"", "", "", "[1]", "[0]", "[1]", "False", "[0]", "1"};
  for (const std::vector<TensorShape>& shapes : std::vector<std::vector<TensorShape>>{
           {}, {{2, 3, 4}}, {{2, 3}, {2, 3}}, {{2, 3, 4}, {5, 3, 4, 4}}, {{2, 3, 4}, {5, 3, 5}}})
    CHECK(operations_of("aten::convolution", {shapes, values, "float"}) == 0);
  CHECK(operations_of("aten::convolution", {{{2, 3, 4}, {5, 3, 1}}, {}, "float"}) == 0);
  CHECK(operations_of("aten::convolution_backward", {{{2, 3, 4}, {2, 3, 4}, {5, 3, 1}}, values, "float"}) == 0);
  // The largest sizes and numbers in texts.
  const std::string huge = "[9223372036854775807, -9223372036854775808]";
  CHECK(operations_of("aten::convolution", {{{1, 1, kLargestSize, kLargestSize}, {1, 1, kLargestSize, 1}},
                                            {"", "", "", huge, huge, huge, "False", "", ""},
                                            "float"}) >= 0);
}

}  // namespace unstarve
