#include "stepcast/sim/scenario/resolved_scenario.hpp"

#include "stepcast/base/canonical.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/sim/scenario/applied_framework.hpp"
#include "stepcast/sim/scenario/draft.hpp"

namespace stepcast {
namespace {

std::string in_quotes(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string list_text(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (const std::int64_t n : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + "]";
}

/// A value as a scenario file writes it: most as they are compared, some with units or quotes.
struct Written {
  template <class Plain>
  std::string operator()(const Plain& v) const {
    return value_text(v);
  }
  std::string operator()(Seconds* v) const { return shortest(v->value()) + "s"; }
  std::string operator()(Bytes* v) const { return shortest(v->value()) + "B"; }
  std::string operator()(BytesPerSecond* v) const { return shortest(v->value()) + "B/s"; }
  std::string operator()(FlopsPerSecond* v) const { return shortest(v->value()) + "FLOPS"; }
  std::string operator()(std::string* v) const { return in_quotes(*v); }
  std::string operator()(const OptionalTime& v) const {
    return *v.given ? shortest(v.target->value()) + "s" : std::string(v.word);
  }
  std::string operator()(const PartsOf& v) const {
    return v.parts->empty() ? value_text(v) : list_text(*v.parts);
  }
  std::string operator()(const Tolerance& v) const {
    if (*v.relative) return shortest(100 * *v.target) + "%";
    const char* unit = v.of == Tolerance::Of::time ? "s" : v.of == Tolerance::Of::size ? "B" : "";
    return shortest(*v.target) + unit;
  }
  std::string operator()(std::vector<std::string>* v) const { return "[" + joined(*v) + "]"; }
  std::string operator()(std::vector<std::int64_t>* v) const { return list_text(*v); }
  std::string operator()(const Choice& choice) const {
    if (choice.file != nullptr && !choice.file->empty()) return "{table: " + *choice.file + "}";
    return choice.is_table(choice.get()) ? table_text(*choice.table) : value_text(choice);
  }
};

class YamlWriter : public Visitor {
 public:
  YamlWriter(std::size_t indent, std::string& out) : indent_(indent, ' '), out_{out} {}

  void field(const Field& field) override {
    const std::string text = std::visit(Written{}, field.target);
    // A model that was written out by hand, or by a launch file, has no name.
    if (!text.empty() || !std::holds_alternative<Identifier>(field.target)) line(field.key, text);
  }
  void section(std::string_view key, std::string_view, const Body& body) override {
    std::string inner;
    YamlWriter writer{indent_.size() + 2, inner};
    body(writer);
    if (inner.empty()) return;
    out_ += indent_ + std::string(key) + ":\n" + inner;
  }
  void section_or(std::string_view key, std::string_view doc, std::string_view word, bool& present,
                  const Body& body) override {
    if (present) return section(key, doc, body);
    line(key, word);
  }
  void alternatives(std::string_view key, std::string_view, std::size_t& current,
                    const std::vector<Alternative>& bodies) override {
    line(key, bodies[current].name);
    bodies[current].body(*this);
  }
  void one_of(std::size_t& current, const std::vector<Alternative>& bodies) override {
    bodies[current].body(*this);
  }
  void list(std::string_view key, std::string_view, std::size_t size, const Resize&,
            const Entry& body) override {
    if (size == 0) return line(key, "[]");
    out_ += indent_ + std::string(key) + ":\n";
    for (std::size_t i = 0; i < size; ++i) {
      std::string entry;
      YamlWriter writer{indent_.size() + 4, entry};
      body(writer, i);
      entry.replace(indent_.size() + 2, 1, "-");
      out_ += entry;
    }
  }
  void optional_list(std::string_view key, std::string_view doc, std::size_t size,
                     const Resize& resize, const Entry& body) override {
    if (size == 0) return line(key, "none");
    list(key, doc, size, resize, body);
  }

 private:
  void line(std::string_view key, std::string_view value) {
    out_ += indent_ + std::string(key) + ": " + std::string(value) + "\n";
  }

  std::string indent_;
  std::string& out_;
};

/// The framework whose rules fill nothing any more, but whose intervals are those of the forecast;
/// nothing where it was assumed, as it will be again.
std::string framework_line(const Scenario& scenario) {
  const AppliedFramework* framework = scenario.framework.get();
  if (framework == nullptr || framework->id.empty()) return "framework: none\n";
  if (framework->assumed) return "";
  const bool shipped = framework->file.ends_with("frameworks/" + framework->id + ".yaml");
  const std::string name = shipped ? framework->id : in_quotes(framework->file);
  const std::string recipe = framework->recipe.empty() ? "none" : framework->recipe;
  return "framework: {extends: " + name + ", recipe: " + recipe + "}\n";
}

}  // namespace

std::string resolved_yaml(const Scenario& scenario) {
  ScenarioDraft draft;
  draft.scenario = scenario;
  // A resolved scenario is one to run again: what a file held its result to is no input.
  draft.scenario.expect.reset();
  draft.scenario.campaign.reset();
  // Paths as they were found, since the text may stand in another folder.
  if (auto& platform = draft.scenario.cluster.network.platform) platform->file = platform->path;
  if (scenario.order_table) draft.scenario.schedule.table = scenario.order_file;
  if (scenario.synthetic) {
    draft.synthetic = *scenario.synthetic;
    draft.source = ScenarioDraft::from_workload;
    draft.graph = scenario.graph_path;
    if (scenario.graph)
      draft.workload_source =
          scenario.graph->traced ? ScenarioDraft::from_chakra : ScenarioDraft::from_graph;
  }
  std::string text;
  if (!scenario.question.empty()) text = "# question: " + scenario.question + "\n";
  YamlWriter writer{0, text};
  describe(writer, draft);
  const std::string none = "framework: \"none\"\n";
  return text.replace(text.find(none), none.size(), framework_line(scenario));
}

}  // namespace stepcast
