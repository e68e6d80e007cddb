#pragma once
#include <string>
#include <vector>

#include "arguments.hpp"
#include "draft.hpp"

/// `training.adapters` of any framework: docs/models/adapters.md.
namespace stepcast::launch {

/// What a file says of its adapters.
struct AdapterFlags {
  const Setting* rank = nullptr;
  const Setting* targets = nullptr;
  const Setting* dropout = nullptr;
  const Setting* packed = nullptr;      ///< frozen weights in four bits
  std::int64_t otherwise = 0;           ///< rank of a file that gives none
  bool drops = false;                   ///< dropout of one that says nothing
  std::vector<std::string> usual = {};  ///< names of its targets, likewise
  const char* split = "both";           ///< AdapterSpec::Split of the framework
  bool gated = false;                   ///< the model is a file whose layers have a gate
};

/// Sets the keys. Names of targets are those of modules in Megatron-Bridge, NeMo, peft and
/// MindFormers, as words of a list or between `|` of a pattern.
void set_adapters(const AdapterFlags& flags, Arguments& arguments, Draft& draft);

}  // namespace stepcast::launch
