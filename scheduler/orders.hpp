#pragma once
#include "stepcast/scheduler/stage_order.hpp"

/// The order functions behind the table of pipeline_schedules().
namespace stepcast {

/// All forwards, then all backwards, micro-batches ascending (GPipe, Huang et al. 2019).
StageOrder gpipe_order(const PipelineShape& shape, Stage stage);

/// Warm-up of min(m, p - 1 - stage) forwards, then one forward and one backward in turn
/// (PipeDream-flush, Narayanan et al. 2021).
StageOrder one_f_one_b_order(const PipelineShape& shape, Stage stage);

/// Interleaved 1F1B with groups of `shape.group` micro-batches per chunk visit (Narayanan et al.
/// 2021, section 2.2; group size as in Megatron-LM schedules.py).
StageOrder interleaved_order(const PipelineShape& shape, Stage stage);

/// What is wrong with the shape, or nothing.
std::string plain_rule(const PipelineShape& shape);
std::string interleaved_rule(const PipelineShape& shape);

}  // namespace stepcast
