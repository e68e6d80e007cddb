#pragma once
#include <string>
#include <string_view>

#include "stepcast/base/document.hpp"

/// Which framework, in which version, a launch file runs.
namespace stepcast::launch {

struct Identity {
  std::string name;     ///< as framework files have it, `Megatron-Core`; empty: none runs
  std::string version;  ///< which the file says; empty: it says none
  std::string words;    ///< what says it, as the file has it
  std::string file;     ///< `megatron-core-0.14`; empty: no preset
  std::string from;     ///< the first version of that preset

  bool is(std::string_view framework) const { return name == framework; }
  /// Whether the preset is for this version or a later one.
  bool at_least(const std::string& first) const;
  /// Whether products of several experts are launched one by one, side by side on streams:
  /// TEGroupedMLP of Megatron-Core from 0.9 on.
  bool streams_experts() const;
};

/// Of a file of a form: by names with versions, tags of containers, paths, and flags that are gone.
/// `chosen` is the preset that --framework names, empty: none is.
Identity identify(std::string_view form, const std::string& text, const std::string& chosen,
                  const SearchPath& search);

}  // namespace stepcast::launch
