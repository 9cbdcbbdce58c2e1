#include "unstarve/torch/import/script_graph.h"

#include <fmt/format.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/unsupported.h"
#include "unstarve/torch/import/script_operators.h"
#include "unstarve/torch/import/script_values.h"

namespace unstarve::infer {
namespace {

using Compare = bool (*)(std::int64_t a, std::int64_t b);
std::optional<Compare> comparison(std::string_view kind) {
  if (kind == "aten::eq") return [](std::int64_t a, std::int64_t b) { return a == b; };
  if (kind == "aten::ne") return [](std::int64_t a, std::int64_t b) { return a != b; };
  if (kind == "aten::lt") return [](std::int64_t a, std::int64_t b) { return a < b; };
  if (kind == "aten::le") return [](std::int64_t a, std::int64_t b) { return a <= b; };
  if (kind == "aten::gt") return [](std::int64_t a, std::int64_t b) { return a > b; };
  if (kind == "aten::ge") return [](std::int64_t a, std::int64_t b) { return a >= b; };
  return std::nullopt;
}

// Operators whose result shares memory with their input.
bool is_view(ScriptNode node) {
  static const std::set<std::string_view> kViews{
      "aten::alias",   "aten::contiguous", "aten::detach",    "aten::flatten", "aten::permute",   "aten::reshape",
      "aten::squeeze", "aten::t",          "aten::transpose", "aten::to",      "aten::unsqueeze", "aten::view"};
  return kViews.contains(node->kind().toQualString());
}

class ScriptImporter {
 public:
  ScriptImporter(const torch::jit::Graph& script, const TensorType& input, const TensorNames& names)
      : script_(script), values_(names) {
    values_.set(script.inputs().back(), values_.graph().add_input(values_.unique("input"), input));
  }

  Graph run() {
    for (ScriptNode node : script_.nodes()) convert(node);
    unsupported_.check();
    if (script_.outputs().size() != 1)
      throw Error(ErrorKind::kInput, fmt::format("found {} outputs; expected one", script_.outputs().size()));
    Graph& graph = values_.graph();
    const std::optional<ValueId> output = values_.computed(script_.outputs()[0]);
    if (!output) throw Error(ErrorKind::kInput, "the output is not one tensor; expected one");
    graph.outputs = {*output};
    graph.remove_unused();
    return std::move(graph);
  }

 private:
  void convert(ScriptNode node) {
    values_.begin(node);
    const std::string kind = node->kind().toQualString();
    try {
      if (!convert_plain(kind)) convert_aten(kind);
    } catch (const UnsupportedScript& form) {
      unsupported_.add(kind + form.reason, values_.unique(values_.label()));
      for (Script output : node->outputs()) values_.set(output, ScriptValues::Unknown{});
    } catch (const UnknownInput&) {
      for (Script output : node->outputs()) values_.set(output, ScriptValues::Unknown{});
    }
  }

  void set_output(ScriptValues::Item item) { values_.set(values_.node()->output(), std::move(item)); }

  // Nodes that are not operators on tensors.
  bool convert_plain(const std::string& kind) {
    ScriptNode node = values_.node();
    if (kind == "prim::Constant") {
      set_output(torch::jit::toIValue(node->output()).value());
    } else if (kind == "prim::ListConstruct") {
      set_output(std::vector<Script>(node->inputs().begin(), node->inputs().end()));
    } else if (kind == "prim::NumToTensor" || kind == "aten::Int" || kind == "aten::IntImplicit") {
      set_output(values_.item(values_.in(0)));
    } else if (kind == "prim::If") {
      convert_branch();
    } else if (kind == "aten::append") {
      std::vector<Script>* const list = values_.list(values_.in(0));
      if (list == nullptr) throw UnsupportedScript{" to a computed list"};
      list->push_back(values_.in(1));
    } else {
      return convert_integers(kind);
    }
    return true;
  }

  // The branch that is taken, if that does not depend on values.
  void convert_branch() {
    ScriptNode branch = values_.node();
    const torch::jit::Block* block = branch->blocks()[values_.flag(0) ? 0 : 1];
    for (ScriptNode node : block->nodes()) convert(node);
    values_.begin(branch);
    for (std::size_t i = 0; i < branch->outputs().size(); ++i)
      values_.set(branch->outputs()[i], values_.item(block->outputs()[i]));
  }

  // Shapes, and what scripts compute from them to check their arguments.
  bool convert_integers(const std::string& kind) {
    const auto sizes = [&] {
      Integers result = values_.type(values_.tensor(0)).shape;
      std::ranges::replace(result, kBatch, kBatchInteger);
      return result;
    };
    const auto element = [&](const Integers& all) {
      set_output(c10::IValue(all[axis_index(values_.integer(1), all.size())]));
    };
    if (kind == "aten::size" && values_.inputs() == 1) {
      set_output(c10::IValue(sizes()));
    } else if (kind == "aten::size") {
      element(sizes());
    } else if (kind == "aten::dim") {
      set_output(c10::IValue(static_cast<std::int64_t>(sizes().size())));
    } else if (kind == "aten::len") {
      const auto* const list = values_.list(values_.in(0));
      const std::size_t length = list != nullptr ? list->size() : values_.integers(0, /*batch=*/true).size();
      set_output(c10::IValue(static_cast<std::int64_t>(length)));
    } else if (kind == "aten::__getitem__" && values_.constant(values_.in(1)).isInt()) {
      if (const auto* const list = values_.list(values_.in(0)))
        set_output(values_.item((*list)[axis_index(values_.integer(1), list->size())]));
      else
        element(values_.integers(0, /*batch=*/true));
    } else if (const auto compare = comparison(kind)) {
      set_output(c10::IValue((*compare)(values_.integer(0), values_.integer(1))));
    } else {
      return false;
    }
    return true;
  }

  void convert_aten(const std::string& kind) {
    constexpr std::string_view kAten = "aten::";
    std::string_view op = kind;
    if (!op.starts_with(kAten)) throw UnsupportedScript{};
    op.remove_prefix(kAten.size());
    const bool in_place = op.ends_with("_");
    if (in_place) op.remove_suffix(1);
    const std::vector<Script> changed = in_place && is_operator(op) ? aliases(values_.in(0)) : std::vector<Script>();
    for (Script value : changed) check_views(value);
    convert_operator(op, values_);
    for (Script value : changed) values_.set(value, values_.item(values_.node()->outputs()[0]));
  }

  // The values with the memory of `value`, which comes first: results of operators in place and of dropout, which does
  // nothing here, and their inputs.
  static std::vector<Script> aliases(Script value) {
    std::vector<Script> values{value};
    for (;;) {
      const std::string_view kind = values.back()->node()->kind().toQualString();
      const bool same =
          kind.starts_with("aten::") && ((kind.ends_with("_") && !kind.ends_with("__")) || kind.ends_with("dropout"));
      if (!same) return values;
      values.push_back(values.back()->node()->inputs()[0]);
    }
  }

  // A view that was made before would have to change with its tensor.
  void check_views(Script value) const {
    if (is_view(value->node())) throw UnsupportedScript{" of a view"};
    for (const torch::jit::Use& use : value->uses())
      if (is_view(use.user) && use.user->isBefore(const_cast<torch::jit::Node*>(values_.node())))
        throw UnsupportedScript{" of a tensor with a view"};
  }

  const torch::jit::Graph& script_;
  ScriptValues values_;
  UnsupportedOperators unsupported_;
};

}  // namespace

Graph graph_of(const torch::jit::Graph& script, const TensorType& input, const TensorNames& names) {
  if (script.inputs().empty()) throw Error(ErrorKind::kInput, "found no input; expected one tensor");
  return ScriptImporter(script, input, names).run();
}

}  // namespace unstarve::infer
