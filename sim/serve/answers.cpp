#include "answers.hpp"

namespace stepcast {

/// The words are ours; of what was asked they may quote a name, of which letters beyond ASCII are
/// not worth a library.
ApiAnswer refused(int status, const std::string& text) {
  std::string json = "{\"error\":\"";
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~';
    if (c == '"' || c == '\\') json += '\\';
    json += plain ? c : '?';
  }
  return {status, json + "\"}"};
}

}  // namespace stepcast
