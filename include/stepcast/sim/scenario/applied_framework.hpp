#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// What a framework said of one scenario.
struct AppliedFramework {
  struct Key {
    std::string path;    ///< `moe.dispatcher`
    std::string value;   ///< as Scenario::content has it
    std::string source;  ///< of the rule, as its file says it
    std::string place;   ///< `frameworks/megatron-core-0.14.yaml:12`
    std::string recipe;  ///< whose flag it is; empty: the code itself
    std::string why;     ///< what it does not go with; empty for a key that is set
  };
  std::string id;     ///< the name of its file, `mindspeed-2.3`; empty: rules of the scenario alone
  std::string label;  ///< `MindSpeed 2.3`
  std::string file;
  std::string vendor;     ///< of the only devices that it runs on; empty: any, or these
  std::string recipe;     ///< whose flags are set; empty: none
  bool assumed = false;   ///< the usual one of the device: the scenario names none
  std::vector<Key> keys;  ///< that it sets, in the order of paths
  std::vector<Key> left_out;

  /// Whether it sets the key.
  bool sets(std::string_view path) const;
};

}  // namespace stepcast
