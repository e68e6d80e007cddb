#pragma once
#include <initializer_list>

#include "stepcast/scheduler/stage_order.hpp"

/// The order functions behind the table of pipeline_schedules(), and what they share.
namespace stepcast {

/// All forwards, then all backwards, micro-batches ascending (GPipe, Huang et al. 2019).
StageOrder gpipe_order(const PipelineShape& shape, Stage stage);

/// GPipe over slices of the sequence: all slices forward, then backward from the last slice of each
/// micro-batch (TeraPipe, Li et al. 2021).
StageOrder terapipe_order(const PipelineShape& shape, Stage stage);

/// Warm-up of min(m, p - 1 - stage) forwards, then one forward and one backward in turn
/// (PipeDream-flush, Narayanan et al. 2021).
StageOrder one_f_one_b_order(const PipelineShape& shape, Stage stage);

/// Interleaved 1F1B with groups of `shape.group` micro-batches per chunk visit (Narayanan et al.
/// 2021, section 2.2; group size as in Megatron-LM schedules.py; `less_memory` as in MindSpore).
StageOrder interleaved_order(const PipelineShape& shape, Stage stage);

/// 1F1B over slices, chunk after chunk in cycles of micro-batches (MindSpore seqpipe_scheduler.cc).
StageOrder seqpipe_order(const PipelineShape& shape, Stage stage);
StageOrder seqvpp_order(const PipelineShape& shape, Stage stage);
StageOrder seqsmartvpp_order(const PipelineShape& shape, Stage stage);

/// Split backward, weight gradients late on later stages (Qi et al. 2023, ZB-H1 and ZB-H2).
StageOrder zb_h1_order(const PipelineShape& shape, Stage stage);
StageOrder zb_h2_order(const PipelineShape& shape, Stage stage);

/// V placement with the memory of 1F1B's first stage on each stage (Qi et al. 2024, V-ZB).
StageOrder zb_v_order(const PipelineShape& shape, Stage stage);
/// V placement with about a half and a third of it (Qi et al. 2024, V-Half and V-Min).
StageOrder v_half_order(const PipelineShape& shape, Stage stage);
StageOrder v_min_order(const PipelineShape& shape, Stage stage);
std::vector<StageOrder> v_half_orders(const PipelineShape& shape);
std::vector<StageOrder> v_min_orders(const PipelineShape& shape);

/// Two directions, or two chunks in a V, whose forwards run as one with the other's backwards
/// (DeepSeek DualPipe and DualPipeV; the latter is MindSpore's zero_bubble_v).
StageOrder dualpipe_order(const PipelineShape& shape, Stage stage);
StageOrder dualpipe_v_order(const PipelineShape& shape, Stage stage);

/// What is wrong with the shape, or nothing.
std::string plain_rule(const PipelineShape& shape);
std::string terapipe_rule(const PipelineShape& shape);
std::string interleaved_rule(const PipelineShape& shape);
std::string seqpipe_rule(const PipelineShape& shape);
std::string seqvpp_rule(const PipelineShape& shape);
std::string seqsmartvpp_rule(const PipelineShape& shape);
std::string v_rule(const PipelineShape& shape);
std::string v_planned_rule(const PipelineShape& shape);
std::string dualpipe_rule(const PipelineShape& shape);

/// The parts that rules are made of. `standard_warm_up` refuses `extra` and `less_memory`.
std::string one_chunk(const PipelineShape& shape);
std::string two_chunks(const PipelineShape& shape);
std::string several_chunks(const PipelineShape& shape);
std::string one_slice(const PipelineShape& shape);
std::string standard_warm_up(const PipelineShape& shape);
/// At least two micro-batches per stage.
std::string two_per_stage(const PipelineShape& shape);
/// The first text that is not empty; a rule may rely on those before it.
std::string first_wrong(const PipelineShape& shape,
                        std::initializer_list<std::string (*)(const PipelineShape&)> rules);

}  // namespace stepcast
