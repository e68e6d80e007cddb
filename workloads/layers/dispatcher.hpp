#pragma once
#include "statements.hpp"

/// Dispatchers of experts as the statements of their frameworks, by version:
/// docs/models/dispatchers.md. Private to workloads/layers.
namespace stepcast::rows {

// Each of these needs a form. What lines up the tokens of a rank for their exchange, with counts,
// splits and waits, and its gradient.
void prepare_rows(LayerItems& items, const Experts& e);
LayerItems prepare_rows_backward(const Experts& e);
/// What adds up the rows that came back, and its gradient.
LayerItems finish_rows(const Experts& e);
LayerItems finish_rows_backward(const Experts& e);

/// Arrived rows into the order of experts and back, and their gradients.
enum class Sort { forth, back, back_gradient, forth_gradient };
LayerItems order_rows(const Experts& e, const std::string& name, Sort sort);

// The same of DeepEP: layout and counts, what stands in front of every exchange but the first, and
// arrived rows for each of their experts.
void announce_deepep(LayerItems& items, const Experts& e);
LayerItems notify_deepep(const Experts& e, const std::string& name);
LayerItems expand_deepep(const Experts& e, const std::string& name, Sort sort);

// The same of HybridEP: gathered masks and what is made of them, and the kernels of its own around
// every exchange.
void announce_hybridep(LayerItems& items, const Experts& e);
void surround_hybridep(Hops& hops, const Experts& e, const Exchange& x);

// The same of MindFormers' blocks of a fixed size, and the choice of experts with the places in
// them.
void choose_places(LayerItems& items, const Experts& e, bool in_statements);
LayerItems choose_places_backward(const Experts& e);
void fill_blocks(LayerItems& items, const Experts& e);
LayerItems fill_blocks_backward(const Experts& e);
LayerItems empty_blocks(const Experts& e);
LayerItems empty_blocks_backward(const Experts& e);
LayerItems order_blocks(const Experts& e, const std::string& name, Sort sort);

// The same of the allgather dispatcher: expert numbers and weights, own pairs of the gathered
// tokens, and what adds up outputs. `outputs`: of the way on which outputs or their gradients go.
void announce_gather(LayerItems& items, const Experts& e);
LayerItems own_pairs(const Experts& e);
LayerItems own_pairs_backward(const Experts& e);
LayerItems gathered_outputs(const Experts& e);
LayerItems gathered_outputs_backward(const Experts& e);

}  // namespace stepcast::rows
