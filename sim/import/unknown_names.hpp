#pragma once
#include <vector>

#include "draft.hpp"
#include "stepcast/sim/import/import.hpp"

/// Names that no table of a framework has: a slip of the pen, a name of another framework, or a
/// file of another kind.
namespace stepcast::launch {

/// Why BERT is refused.
inline constexpr std::string_view what_bert_is =
    "trains BERT, whose tokens see those behind them and whose heads no key has";

/// Refuses them, or notes them where they may be passed over. A name that has an effect in another
/// framework may not. `all`: how many settings there are. Throws InputError where a third of them
/// is unknown, as that is another kind of file.
void settle_unknown(Framework framework, const std::vector<Setting>& unknown, std::size_t all,
                    bool ignore_unknown, const std::string& program, Draft& draft);

/// Whether a program makes data, checkpoints or scores beside a training, by its name.
bool trains_nothing(std::string_view program);

/// Refuses a launch whose program takes words of the form `data.batch=4`, which is none of those
/// that are read. Throws InputError.
void refuse_other_programs(const Launch& launch);

/// Refuses a launch of Megatron-LM that says no size of a model. Throws InputError.
void refuse_without_model(const Launch& launch, const Draft& draft);

/// Refuses a file of another program, or of a step that no key has, in one message. Throws
/// InputError.
void refuse_other_steps(Framework framework, const std::vector<Setting>& settings);

}  // namespace stepcast::launch
