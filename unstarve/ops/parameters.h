#pragma once
// Reads an operation's parameters: checks names, counts and ranges, and says plainly what was expected.
//
// Use: construct with every name the operation knows, then take the values. Failure: Error(kArgument).

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "unstarve/core/image.h"
#include "unstarve/ops/operation.h"

namespace unstarve {

class Parameters {
 public:
  // Throws for a name in `params` that is not among `known`.
  Parameters(std::string_view operation, const OpParams& params, std::initializer_list<std::string_view> known);

  // An integer in [low, high]; `fallback` when absent.
  [[nodiscard]] int integer(std::string_view name, int fallback, int low, int high) const;
  // A number in [low, high].
  [[nodiscard]] double number(std::string_view name, double fallback, double low, double high) const;
  // Two numbers a <= b in (0, high].
  [[nodiscard]] std::pair<double, double> range(std::string_view name, std::pair<double, double> fallback,
                                                double high) const;
  // "size: 224" (a square) or "size: [height, width]" in the order of torchvision; required.
  [[nodiscard]] Size size(std::string_view name) const;
  // Throws unless `name` is given.
  void require(std::string_view name) const;

 private:
  [[nodiscard]] const std::vector<double>* find(std::string_view name) const;
  [[noreturn]] void fail(std::string_view name, const std::vector<double>& found, const std::string& expected) const;

  std::string operation_;
  const OpParams& params_;
};

}  // namespace unstarve
