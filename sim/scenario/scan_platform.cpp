#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "read_draft.hpp"

/// A walk over the tags of a file, because a tree of two million routes would take gigabytes. That
/// the file is well-formed is for SimGrid to say.
namespace stepcast {
namespace {

struct Tag {
  std::string name;
  int line;  // from 1
  std::map<std::string, std::string> attributes;
};

constexpr std::string_view blank = " \t\r\n";

class TagReader {
 public:
  explicit TagReader(std::string_view text) : text_{text} {}

  /// The next tag that opens an element; nothing at the end.
  std::optional<Tag> next() {
    while (true) {
      skip_to(text_.find('<', at_));
      if (at_ >= text_.size()) return {};
      if (text_.substr(at_).starts_with("<!--")) {
        skip_behind("-->");
      } else if (text_.substr(at_).starts_with("<?") || text_.substr(at_).starts_with("<!") ||
                 text_.substr(at_).starts_with("</")) {
        skip_behind(">");
      } else {
        return read();
      }
    }
  }

 private:
  void skip_to(std::size_t end) {
    end = std::min(end, text_.size());
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at_ = end;
  }
  void skip_behind(std::string_view mark) {
    const std::size_t found = text_.find(mark, at_);
    skip_to(found == std::string_view::npos ? found : found + mark.size());
  }
  std::string word() {
    const std::size_t end = text_.find_first_of(" \t\r\n=/>", at_);
    std::string found{text_.substr(at_, end == std::string_view::npos ? end : end - at_)};
    skip_to(end);
    return found;
  }

  Tag read() {
    ++at_;
    Tag tag{word(), line_, {}};
    while (at_ < text_.size()) {
      skip_to(text_.find_first_not_of(blank, at_));
      if (at_ >= text_.size() || text_[at_] == '>') break;
      const std::size_t before = at_;
      const std::string key = word();
      skip_to(text_.find_first_not_of(" \t\r\n=", at_));
      if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
        const std::size_t end = std::min(text_.find(text_[at_], at_ + 1), text_.size());
        tag.attributes[key] = text_.substr(at_ + 1, end - at_ - 1);
        skip_to(end + 1);
      }
      if (at_ == before) ++at_;
    }
    return tag;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

/// What is wrong with a tag; empty when nothing is.
std::string wrong_tag(const Tag& tag) {
  constexpr std::array<std::string_view, 6> runs{"config", "trace",   "trace_connect",
                                                 "actor",  "process", "include"};
  if (std::ranges::find(runs, tag.name) != runs.end())
    return "has <" + tag.name + ">, allowed: zones, hosts, routers, links, routes and prop";
  for (const auto& [key, value] : tag.attributes) {
    if (key == "file" || key.ends_with("_file"))
      return "has the attribute " + key + " at <" + tag.name +
             ">, which names a profile over time, allowed: bandwidths and latencies that stay";
    const bool routing = key == "routing" && (lower(value) == "vivaldi" || lower(value) == "wifi");
    if (routing || (key == "sharing_policy" && lower(value) == "wifi"))
      return "has " + key + "=\"" + shortened(value) + "\" at <" + tag.name +
             ">, whose links are no links, allowed: " +
             (routing ? "Full, Floyd, Dijkstra, DijkstraCache, Cluster, None"
                      : "SHARED, SPLITDUPLEX, FATPIPE");
  }
  return {};
}

}  // namespace

void scan_platform(const std::string& text, const std::string& file, const std::string& key,
                   Reading& reading) {
  TagReader reader(text);
  std::map<std::pair<std::string, std::string>, int> names;
  constexpr std::size_t most_reports = 50;
  const std::size_t before = reading.diagnostics.size();
  while (reading.diagnostics.size() < before + most_reports) {
    const std::optional<Tag> tag = reader.next();
    if (!tag) break;
    if (const std::string wrong = wrong_tag(*tag); !wrong.empty())
      reading.report({file, tag->line, 1}, key, wrong);
    const auto id = tag->attributes.find("id");
    const bool named = tag->name == "host" || tag->name == "link" || tag->name == "zone" ||
                       tag->name == "cluster" || tag->name == "router";
    if (!named || id == tag->attributes.end()) continue;
    const bool link = tag->name == "link";
    const auto [at, fresh] = names.try_emplace({link ? "link" : "point", id->second}, tag->line);
    if (!fresh)
      reading.report({file, tag->line, 1}, key,
                     "has '" + shortened(id->second) + "' twice, first at line " +
                         std::to_string(at->second) + ", allowed: a name for each");
  }
  if (reading.diagnostics.size() > before) reading.failed.insert(key);
}

}  // namespace stepcast
