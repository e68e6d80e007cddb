#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace stepcast::cli {

/// Adds an option or an argument. Behind its names stands what the help calls its value:
/// `-o,--output FILE`.
template <class Target>
CLI::Option* option(CLI::App* sub, const std::string& names, Target& target,
                    const std::string& what) {
  const std::size_t blank = names.find(' ');
  return sub->add_option(names.substr(0, blank), target, what)->type_name(names.substr(blank + 1));
}

/// The same for one that must be given.
template <class Target>
void required(CLI::App* sub, const std::string& names, Target& target, const std::string& what) {
  option(sub, names, target, what)->required();
}

/// The same for one that is given once for each of its values.
template <class Target>
void repeated(CLI::App* sub, const std::string& names, Target& target, const std::string& what) {
  option(sub, names, target, what)->allow_extra_args(false);
}

}  // namespace stepcast::cli
