#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>

#include "document_steps.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/standard_input.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_file = 16U << 20U;

std::string read_stream(std::istream& stream, const std::string& name, std::string_view format) {
  std::string text;
  // In blocks, because the size of a pipe is not known before its end.
  std::array<char, 1U << 14U> block;  // not filled: most files are shorter
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) ||
         stream.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > largest_file)
      refuse_input({name}, {}, "is larger than 16 MiB, allowed: " + std::string(format));
  }
  if (stream.bad()) refuse_input({name}, {}, "cannot be read");
  return text;
}

/// What of a path that is there is no text; nothing for what can be read.
const char* wrong_kind(const fs::file_status& status) {
  if (fs::is_directory(status)) return "is a directory";
  if (fs::is_block_file(status)) return "is a block device";
  if (fs::is_socket(status)) return "is a socket";
  return nullptr;  // regular files, pipes, and terminals
}

std::string read_open_file(const fs::path& path, std::string_view format) {
  const std::string name = path.string();
  errno = 0;
  std::ifstream stream{path, std::ios::binary};
  if (!stream)
    refuse_input({name}, {}, std::string("cannot be opened for reading: ") + std::strerror(errno));
  return read_stream(stream, name, format);
}

/// Standard input and pipes give their text once, and one command may ask several times: for the
/// kind of the file, for its sweep, for a second side.
std::map<std::string, std::string>& texts_of_streams() {
  static std::map<std::string, std::string> texts;
  return texts;
}

std::string read_once(const std::string& name, const std::function<std::string()>& read) {
  auto& texts = texts_of_streams();
  const auto found = texts.find(name);
  return found != texts.end() ? found->second : texts.emplace(name, read()).first->second;
}

}  // namespace

void forget_standard_input() {
  texts_of_streams().clear();
  // What the C library has of the former file goes, with its end.
  std::rewind(stdin);
  std::cin.clear();
}

std::string read_file(const fs::path& path, std::string_view format) {
  const std::string allowed = ", allowed: " + std::string(format);
  const std::string name = path.string();
  if (name.empty())
    refuse_input({}, "file name", "is empty, allowed: the path of " + std::string(format));
  // Standard input can be read once, and several readers may ask for it.
  if (name == "-") return read_once(name, [&] { return read_stream(std::cin, "-", format); });
  std::error_code error;
  const fs::file_status status = status_of(path, error);
  const bool known = fs::exists(status);
  // Told apart because "does not exist" helps nobody whose folder may not be read.
  if (!known && error && error != std::errc::no_such_file_or_directory)
    refuse_input({name}, {}, "cannot be read: " + error.message());
  if (!known) {
    const std::string near = neighbour_hint(path);
    refuse_input({name}, {}, "does not exist" + (near.empty() ? allowed : near));
  }
  if (const char* kind = wrong_kind(status)) refuse_input({name}, {}, kind + allowed);
  // Pipes are remembered as standard input is.
  if (fs::is_regular_file(status)) return read_open_file(path, format);
  return read_once(name, [&] { return read_open_file(path, format); });
}

}  // namespace stepcast
