#pragma once
#include <filesystem>

/// Where this program is. An archive brings its own loader and C library (docs/install.md): then
/// the kernel runs the loader, and /proc/self/exe names that.
namespace stepcast {

/// The file PREFIX/bin/stepcast of this program, or the one in the folder of a build; empty where
/// nothing tells.
std::filesystem::path program_file();

/// What starts this program once more; a program that was replaced meanwhile starts as it was.
std::filesystem::path program_again();

}  // namespace stepcast
