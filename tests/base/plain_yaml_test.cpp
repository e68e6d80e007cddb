#include "base/plain_yaml.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>
#include <sstream>

// The library is the reference: what is read without it must be what it reads.
namespace stepcast {
namespace {

bool same(const Place& a, const Place& b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

bool same(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.text != b.text || a.quoted != b.quoted || !same(a.place, b.place) ||
      a.items.size() != b.items.size() || a.entries.size() != b.entries.size())
    return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same(a.items[i], b.items[i])) return false;
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    const Node::Entry &x = a.entries[i], &y = b.entries[i];
    if (x.key != y.key || !same(x.place, y.place) || !same(x.value, y.value)) return false;
  }
  return true;
}

/// Nothing where the text is not read, or no text at all; else whether the library agrees.
std::optional<bool> agrees(const std::string& text) {
  const std::optional<Node> read = parse_plain(text, "file");
  if (!read) return {};
  try {
    return same(*read, parse_by_library(text, "file"));
  } catch (const InputError&) {
    return false;
  }
}

std::vector<std::string> shipped_texts(const std::string& folder) {
  std::vector<std::string> texts;
  const std::filesystem::path below = std::filesystem::path(STEPCAST_SOURCE_DIR) / folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(below)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream stream{entry.path()};
    std::ostringstream text;
    text << stream.rdbuf();
    texts.push_back(std::move(text).str());
  }
  return texts;
}

TEST(PlainYaml, IsWhatTheLibraryReadsOfPresets) {
  for (const char* folder : {"scenarios/models", "scenarios/clusters/fitted"}) {
    std::size_t read = 0;
    const std::vector<std::string> texts = shipped_texts(folder);
    for (const std::string& text : texts) {
      const std::optional<bool> same = agrees(text);
      EXPECT_TRUE(same.value_or(true)) << text;
      read += same ? 1 : 0;
    }
    EXPECT_GE(10 * read, 9 * texts.size()) << folder;
  }
}

/// A text of pieces that decide how a line is read.
std::string any_text() {
  const std::vector<std::string> pieces{
      "a",  "b", "a: ", "b: ", "- ", "\n", "\n  ", "\n    ", "\n- ", " ", ":",  ": ",  "#",
      " #", "[", "]",   "{",   "}",  ", ", ",",    "'",      "\"",   "~", "0",  "1.5", "null",
      "?",  "-", "&",   "*",   "!",  "|",  ">",    "%",      "@",    "`", "\\", "---"};
  std::string text;
  for (const std::string& piece :
       *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces)))
    text += piece;
  return text;
}

TEST(PlainYaml, IsWhatTheLibraryReadsOfAnyText) {
  EXPECT_TRUE(rc::check([] { RC_ASSERT(agrees(any_text()).value_or(true)); }));
}

TEST(PlainYaml, IsWhatTheLibraryReadsOfEditedFiles) {
  const std::vector<std::string> texts = shipped_texts("scenarios/clusters/fitted");
  EXPECT_TRUE(rc::check([&] {
    std::string text = *rc::gen::elementOf(texts);
    text.resize(std::min<std::size_t>(text.size(), 600));
    const std::string any = " \n:-#[]{},'\"?&*!|>%@`~.x0\\";
    for (int edit = *rc::gen::inRange(1, 4); edit > 0; --edit)
      text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::elementOf(any);
    RC_ASSERT(agrees(text).value_or(true));
  }));
}

TEST(PlainYaml, LeavesToTheLibraryWhatItDoesNotKnow) {
  for (const char* text : {"",
                           "# nothing",
                           "a: |\n  text",
                           "a: >\n  text",
                           "a: &x 1",
                           "a: *x",
                           "a: !t 1",
                           "a: [1,\n2]",
                           "a:\n",
                           "a: 1\na: 2",
                           "a: \"x\\n\"",
                           "a: 'it''s'",
                           "a: b\n  c",
                           "? a\n: b",
                           "a:\tb",
                           "--- a",
                           "a: [@b]",
                           "a: 1\n...",
                           "word",
                           "a: {b}",
                           "a: [b: 1]",
                           "a: b: c",
                           "a: {b\n  : 1}",
                           "a: [b\n  c]",
                           "a: [1, #\n  2]"})
    EXPECT_FALSE(parse_plain(text, "file")) << text;
}

TEST(PlainYaml, ReadsBracketsOverSeveralLines) {
  const std::string text =
      "a: {b: {c: 1, d: 2},\n\n  # comment\n    e: [3,\n  4], f:\n   g}\nh: 5\n";
  EXPECT_FALSE(parse_plain(text, "file")) << "f has no value in its line";
  const std::string read = "a: {b: {c: 1, d: 2},\n\n  # comment\n    e: [3,\n  4]}\nh: 5\n";
  EXPECT_EQ(agrees(read), true);
  EXPECT_EQ(parse_plain(read, "file")->find("a")->find("e")->items.size(), 2U);
}

TEST(PlainYaml, ReadsWordsListsAndMappings) {
  const std::string text =
      "# comment\na: 1 # one\nb:\n- x\n- {c: 'd, e', f: [g, \"h\"]}\n-  i: j\n   k: ~\n'l m': "
      "n#o\n";
  EXPECT_EQ(agrees(text), true);
  const Node root = parse_plain(text, "file").value();
  EXPECT_EQ(root.find("b")->items[1].find("c")->text, "d, e");
  EXPECT_EQ(root.find("b")->items[2].find("k")->kind, Node::Kind::null);
  EXPECT_EQ(root.find("l m")->text, "n#o");
  EXPECT_EQ(agrees("a: [b@c, d@]"), true);
}

}  // namespace
}  // namespace stepcast
