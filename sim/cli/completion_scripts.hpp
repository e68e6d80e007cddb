#pragma once
#include <string>

namespace CLI {
class App;
}

namespace stepcast::cli {

/// Completion scripts made of the commands and options of a program themselves.
std::string zsh_completion(const CLI::App& program);
std::string fish_completion(const CLI::App& program);

}  // namespace stepcast::cli
