// The parameters of an operation as Python declares them.

#include "python/bindings/bindings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "python/bindings/text.h"
#include "unstarve/ops/operations.h"

namespace unstarve::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using ParameterTuple = std::tuple<std::string, std::string, bool, nb::object, std::string>;

template <class Value>
std::string range_text(Value low, Value high) {
  return fmt::format("{} to {}", low, high);
}

nb::object pair_of(std::pair<double, double> values) { return nb::make_tuple(values.first, values.second); }

nb::object numbers_of(const std::vector<int>& numbers) {
  if (numbers.size() == 1) return nb::int_(numbers.front());
  nb::list list;
  for (const int number : numbers) list.append(number);
  return nb::tuple(list);
}

// (type, default, values)
struct Described {
  using Result = std::tuple<std::string, nb::object, std::string>;

  Result operator()(const ParameterInfo::Integer& kind) const {
    return {"int", nb::int_(kind.fallback), range_text(kind.low, kind.high)};
  }
  Result operator()(const ParameterInfo::Number& kind) const {
    return {"float", nb::float_(kind.fallback), range_text(kind.low, kind.high)};
  }
  Result operator()(const ParameterInfo::Range& kind) const {
    return {"tuple[float, float]", pair_of(kind.fallback),
            fmt::format("minimum and maximum, above 0, up to {}", kind.high)};
  }
  Result operator()(const ParameterInfo::Interval& kind) const {
    return {"float | tuple[float, float]", pair_of(kind.fallback),
            range_text(kind.low, kind.high) + ", or a minimum and a maximum"};
  }
  Result operator()(const ParameterInfo::Sides& kind) const {
    return {"int | tuple[int, int]", nb::none(),
            fmt::format("a side of {} to {} pixels, or (height, width)", kind.low, kind.high)};
  }
  Result operator()(const ParameterInfo::Integers& kind) const {
    std::string type = "int", values = range_text(kind.low, kind.high);
    for (const std::size_t count : kind.counts) {
      if (count == 1) continue;
      type += " | tuple[int" + fmt::format("{}]", fmt::join(std::vector<std::string>(count - 1, ", int"), ""));
      values += fmt::format(", or {} of them", count);
    }
    if (!kind.words.empty())
      type += fmt::format(" | Literal[\"{}\"]", fmt::join(kind.words, "\", \"")),
          values += fmt::format(", or \"{}\"", fmt::join(kind.words, "\" or \""));
    return {type, kind.fallback.empty() ? nb::object(nb::cast(kind.words.front())) : numbers_of(kind.fallback), values};
  }
  Result operator()(const ParameterInfo::Choice& kind) const {
    const std::string words = fmt::format("\"{}\"", fmt::join(kind.words, "\", \""));
    return {fmt::format("Literal[{}]", words), nb::cast(kind.fallback), words};
  }
  Result operator()(const ParameterInfo::Flag& kind) const {
    return {"bool", nb::bool_(kind.fallback), "True or False"};
  }
  Result operator()(const ParameterInfo::Text& kind) const {
    return {"str", nb::cast(kind.example), fmt::format("a text such as \"{}\"", kind.example)};
  }
};

std::vector<ParameterTuple> operation_parameters(const std::string& name) {
  std::vector<ParameterTuple> list;
  for (const ParameterInfo& info : parameters_of(name)) {
    auto [type, fallback, values] = std::visit(Described{}, info.kind);
    list.emplace_back(info.name, type, info.required, fallback, values);
  }
  return list;
}

}  // namespace

void bind_operation_parameters(nb::module_& m) {
  m.def("operation_parameters", &operation_parameters, "name"_a,
        nb::sig("def operation_parameters(name: str) -> list[tuple[str, str, bool, typing.Any, str]]"));
}

}  // namespace unstarve::python
