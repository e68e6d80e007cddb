#include <numeric>

#include "megatron.hpp"
#include "stepcast/base/describe.hpp"

// Which layers each chunk of each stage holds: the framework's cut, never one by time.
namespace stepcast::launch {
namespace {

using Cut = std::vector<std::vector<std::int64_t>>;

constexpr std::int64_t most_chunks = 1 << 16;

/// Chunks in the order of the layers as [chunk][stage]; the second chunk of a V comes back.
Cut placed(const std::vector<std::int64_t>& chunks, std::int64_t pp, bool turned) {
  Cut cut;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (i % static_cast<std::size_t>(pp) == 0) cut.emplace_back();
    cut.back().push_back(chunks[i]);
  }
  if (turned && cut.size() == 2) std::reverse(cut[1].begin(), cut[1].end());
  return cut;
}

/// `first` and `last` stages as given, the others share the rest evenly.
std::optional<Cut> stages_cut(MegatronLaunch& launch, const Setting* first, const Setting* last) {
  std::int64_t rest = launch.layers, stages = launch.pp;
  std::vector<std::int64_t> of_stage(static_cast<std::size_t>(launch.pp), 0);
  if (first != nullptr) of_stage.front() = launch.args.count_or(first->name, 1);
  if (last != nullptr) of_stage.back() = launch.args.count_or(last->name, 1);
  for (const Setting* given : {first, last}) {
    if (given == nullptr) continue;
    rest -= launch.args.count_or(given->name, 1);
    --stages;
  }
  // Whole layers per stage, and as many in each that is left.
  const Setting& named = first != nullptr ? *first : *last;
  if (stages < 0 || rest < 0 || (stages == 0 ? rest != 0 : rest % stages != 0)) {
    launch.args.fail(named, "leaves " + std::to_string(rest) + " layers for " +
                                std::to_string(stages) + " stages, which must be whole");
    return {};
  }
  for (std::size_t s = 0; s < of_stage.size(); ++s) {
    const bool given =
        (s == 0 && first != nullptr) || (s + 1 == of_stage.size() && last != nullptr);
    // Interleaving then cuts each stage evenly.
    if (!given && stages > 0) of_stage[s] = rest / stages;
    if (of_stage[s] % launch.vpp != 0) {
      launch.args.fail(named, "gives a stage " + std::to_string(of_stage[s]) +
                                  " layers, which its " + std::to_string(launch.vpp) +
                                  " chunks do not divide");
      return {};
    }
  }
  Cut cut(static_cast<std::size_t>(launch.vpp));
  for (auto& chunk : cut)
    for (const std::int64_t count : of_stage) chunk.push_back(count / launch.vpp);
  return cut;
}

/// Embedding and head count as a layer each.
std::optional<Cut> accounted_cut(MegatronLaunch& launch, const Setting* input,
                                 const Setting* output) {
  const std::int64_t all = launch.layers + (input != nullptr) + (output != nullptr);
  const std::int64_t chunks = launch.pp * launch.vpp;
  const Setting& named = input != nullptr ? *input : *output;
  if (all % chunks != 0) {
    launch.args.fail(named, "makes " + std::to_string(all) + " layers, which " +
                                std::to_string(chunks) + " chunks do not divide");
    return {};
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(chunks), all / chunks);
  if (input != nullptr) --counts.front();
  if (output != nullptr) --counts.back();
  return placed(counts, launch.pp, false);
}

std::optional<Cut> layout_cut(MegatronLaunch& launch, const Setting& layout) {
  std::string text = layout.words.empty() ? "" : layout.words.front();
  // Shells leave backslashes in front of | and *.
  std::erase(text, '\\');
  const auto read = pipeline_layout(text);
  const auto size = static_cast<std::int64_t>(read ? read->layers.size() : 0);
  if (!read || size % launch.pp != 0) {
    launch.args.fail(layout,
                     "is no layout of " + std::to_string(launch.pp) +
                         " stages, allowed: chunks of E, t, m, L with | behind each but the last");
    // Only `t` is a layer; the sum must be all of them.
    return {};
  }
  const std::int64_t sum =
      std::accumulate(read->layers.begin(), read->layers.end(), std::int64_t{0});
  if (sum != launch.layers) {
    launch.args.fail(layout, "has " + std::to_string(sum) + " layers, and --num-layers are " +
                                 std::to_string(launch.layers));
    return {};
  }
  launch.vpp = size / launch.pp;
  return placed(read->layers, launch.pp, false);
}

std::optional<Cut> listed_cut(MegatronLaunch& launch, const Setting& list) {
  const auto counts = launch.args.counts(list.name);
  const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  // A list is one number per stage: Megatron-LM has no list per chunk.
  if (static_cast<std::int64_t>(counts.size()) != launch.pp || sum != launch.layers) {
    launch.args.fail(list, "has " + std::to_string(counts.size()) + " stages with " +
                               std::to_string(sum) + " layers, needed are " +
                               std::to_string(launch.pp) + " with " +
                               std::to_string(launch.layers));
    return {};
  }
  return Cut{counts};
}

std::optional<Cut> even_cut(MegatronLaunch& launch) {
  const std::int64_t chunks = launch.pp * launch.vpp;
  if (chunks > most_chunks || launch.layers % chunks != 0) {
    launch.args.fail("--num-layers", "is " + std::to_string(launch.layers) + ", which " +
                                         std::to_string(chunks) + " chunks (" +
                                         std::to_string(launch.pp) + " stages of " +
                                         std::to_string(launch.vpp) + ") do not divide");
    return {};
  }
  return placed(std::vector<std::int64_t>(static_cast<std::size_t>(chunks), launch.layers / chunks),
                // A V has its second chunk reversed, so that its placement is not that of a loop.
                launch.pp, launch.dual_pipe);
}

void read_chunks(MegatronLaunch& launch, const Setting* per_chunk, const Setting* per_rank) {
  const std::string method = launch.args.text("--schedules-method");
  launch.dual_pipe = method == "dualpipev";
  // Two chunks by definition, whatever the flags of interleaving say.
  if (launch.dual_pipe) launch.vpp = 2;
  if (per_chunk != nullptr && per_rank != nullptr)
    return launch.args.fail(*per_chunk, "does not go with --num-virtual-stages-per-pipeline-rank");
  if (launch.dual_pipe && per_chunk != nullptr)
    return launch.args.fail(*per_chunk, "does not go with --schedules-method dualpipev");
  if (per_rank != nullptr) launch.vpp = launch.args.count_in(per_rank->name, 1, 1, 1024);
  if (per_chunk == nullptr) return;
  const std::int64_t n = launch.args.count_or(per_chunk->name, 1);
  if (launch.pp == 1) return launch.draft.note(*per_chunk, "counts only with several stages");
  if (n < 1 || launch.layers % (launch.pp * n) != 0 || launch.layers / launch.pp / n > 1024)
    return launch.args.fail(*per_chunk, "is " + std::to_string(n) + ", which must divide the " +
                                            std::to_string(launch.layers) + " layers over " +
                                            std::to_string(launch.pp) + " stages");
  launch.vpp = launch.layers / launch.pp / n;
}

void write_cut(MegatronLaunch& launch, std::initializer_list<const Setting*> flags) {
  Cut real;
  bool even = true;
  for (std::size_t c = 0; c < launch.cut.size(); ++c) {
    real.emplace_back();
    // Layers that do nothing (noop) are cut like others and then not there.
    for (std::size_t s = 0; s < launch.cut[c].size(); ++s) {
      const std::int64_t count = launch.real_layers(c, s, launch.cut[c][s]);
      real.back().push_back(count);
      even = even && count == real.front().front();
    }
  }
  launch.draft.set("parallel.layers_per_chunk", even ? std::string("even") : table_text(real),
                   flags);
}

}  // namespace

std::int64_t MegatronLaunch::first_layer(std::size_t chunk, std::size_t stage) const {
  std::int64_t first = 0;
  for (std::size_t c = 0; c <= chunk; ++c) {
    // The second chunk of a V runs from the last stage to the first.
    const bool back = dual_pipe && c == 1;
    for (std::size_t i = 0; i < cut[c].size(); ++i) {
      const std::size_t s = back ? cut[c].size() - 1 - i : i;
      if (c == chunk && s == stage) return first;
      first += cut[c][s];
    }
  }
  return first;
}

std::int64_t MegatronLaunch::real_layers(std::size_t chunk, std::size_t stage,
                                         std::int64_t most) const {
  const std::int64_t first = first_layer(chunk, stage);
  const std::int64_t end = first + std::min(most, cut[chunk][stage]);
  std::int64_t count = end - first;
  for (const std::int64_t number : noop) count -= number >= first && number < end;
  return count;
}

void import_layers(MegatronLaunch& launch) {
  const Setting* per_chunk = launch.flag("--num-layers-per-virtual-pipeline-stage");
  const Setting* per_rank = launch.flag("--num-virtual-stages-per-pipeline-rank");
  read_chunks(launch, per_chunk, per_rank);
  const Setting* layout = launch.flag("--pipeline-model-parallel-layout");
  const Setting* list = launch.flag("--num-layer-list");
  const Setting* first = launch.flag("--decoder-first-pipeline-num-layers");
  const Setting* last = launch.flag("--decoder-last-pipeline-num-layers");
  const Setting* input = launch.flag("--account-for-embedding-in-pipeline-split");
  const Setting* output = launch.flag("--account-for-loss-in-pipeline-split");
  std::optional<Cut> cut;
  // Flags that exclude each other in Megatron-LM, the more particular first.
  if (layout != nullptr)
    cut = layout_cut(launch, *layout);
  else if (list != nullptr)
    cut = listed_cut(launch, *list);
  else if (first != nullptr || last != nullptr)
    cut = stages_cut(launch, first, last);
  else if (input != nullptr || output != nullptr)
    cut = accounted_cut(launch, input, output);
  else
    cut = even_cut(launch);
  // The layout may have set the chunks.
  launch.draft.set("parallel.vpp", launch.vpp, {per_chunk, per_rank, layout});
  if (!cut) return;
  launch.cut = std::move(*cut);
  write_cut(launch, {layout, list, first, last, input, output, launch.flag("--noop-layers")});
}

namespace {

/// A layout with its repeats written out: `(ab)*n` and then `x*n`.
std::optional<std::string> unrolled(std::string_view text) {
  constexpr std::size_t longest = 1 << 16;
  const auto number = [&](std::string_view from, std::size_t& at) -> std::int64_t {
    std::int64_t value = 0;
    const std::size_t begin = at;
    while (at < from.size() && from[at] >= '0' && from[at] <= '9' && at < begin + 5)
      value = 10 * value + (from[at++] - '0');
    return at == begin ? -1 : value;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    // The loop takes a group or a letter, then perhaps how often it stands there.
    std::string unit;
    if (text[i] == ',' || text[i] == ' ') {
      ++i;
      continue;
    }
    if (text[i] == '(') {
      // Groups do not nest in Megatron-LM either.
      const std::size_t close = text.find(')', i);
      if (close == std::string_view::npos ||
          text.substr(i + 1, close - i - 1).find('(') != std::string_view::npos)
        return {};
      const auto inner = unrolled(text.substr(i + 1, close - i - 1));
      if (!inner) return {};
      unit = *inner;
      i = close + 1;
    } else {
      unit = text[i++];
    }
    std::int64_t times = 1;
    if (i < text.size() && text[i] == '*') {
      ++i;
      times = number(text, i);
    }
    // Bounded before it is written out: `t*99999` in a group is a short text.
    if (times < 0 || unit.size() * static_cast<std::size_t>(times) + out.size() > longest)
      return {};
    for (std::int64_t t = 0; t < times; ++t) out += unit;
  }
  return out;
}

}  // namespace

std::optional<PipelineLayout> pipeline_layout(std::string_view text) {
  const auto letters = unrolled(text);
  if (!letters || letters->empty()) return {};
  PipelineLayout layout{{0}, 0};
  for (const char c : *letters) {
    // E and L are embedding and loss, which every layout must have and which move no layers.
    if (c == '|')
      layout.layers.push_back(0);
    else if (c == 't')
      ++layout.layers.back();
    else if (c == 'm')
      ++layout.mtp;
    else if (c != 'E' && c != 'L')
      return {};
  }
  return layout;
}

}  // namespace stepcast::launch
