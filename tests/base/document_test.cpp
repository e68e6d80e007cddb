#include "stepcast/base/document.hpp"

#include <gtest/gtest.h>

#include "temporary_files.hpp"

namespace stepcast {
namespace {

using test::TemporaryFiles;

/// The tree on one line: scalars as written, quoted ones in quotes.
std::string flat(const Node& node) {
  if (node.kind == Node::Kind::null) return "~";
  if (node.kind == Node::Kind::scalar) return node.quoted ? "'" + node.text + "'" : node.text;
  std::string text;
  for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + flat(item);
  for (const Node::Entry& e : node.entries)
    text += (text.empty() ? "" : ", ") + e.key + ": " + flat(e.value);
  return node.kind == Node::Kind::list ? "[" + text + "]" : "{" + text + "}";
}

template <class Read>
std::string error_of(const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string error_in(std::string_view text) {
  return error_of([&] { parse_document(text, "f"); });
}

Node merged(std::string_view base, std::string_view over) {
  Node node = parse_document(base, "base");
  merge(node, parse_document(over, "over"));
  return node;
}

TEST(Document, IsATreeWithPlaces) {
  const Node root = parse_document("a: 1\nb:\n  - x\n  - {c: '2', d: }\n", "f");
  EXPECT_EQ(flat(root), "{a: 1, b: [x, {c: '2', d: ~}]}");
  EXPECT_EQ(root.entries[1].place.line, 2);
  EXPECT_EQ(root.find("b")->items[1].find("c")->place.line, 4);
  EXPECT_EQ(root.find("b")->items[1].find("c")->place.column, 9);
  EXPECT_EQ(root.find("b")->items[1].find("c")->place.file, "f");
  EXPECT_EQ(root.find("e"), nullptr);
}

TEST(Document, OfNothingIsNothing) {
  EXPECT_EQ(parse_document("", "f").kind, Node::Kind::null);
  EXPECT_EQ(parse_document("# a comment\n", "f").kind, Node::Kind::null);
  EXPECT_EQ(parse_document("\xEF\xBB\xBF"
                           "a: 1",
                           "f")
                .find("a")
                ->text,
            "1");
}

TEST(Document, SaysWhereTheTextIsWrong) {
  EXPECT_EQ(error_in("a: 1\nb: [1, 2\n"),
            "f:3:1: is not YAML: end of sequence flow not found, allowed: a } or ] for each { or [ "
            "above");
  EXPECT_EQ(error_in("a: 1\na: 2\nb: {c: 1, c: 2}\n"),
            "f:2:1: a: is given twice, first in line 1, allowed: each key once\n"
            "f:3:11: b.c: is given twice, first in line 3, allowed: each key once");
  EXPECT_EQ(
      error_in("a: &x 1\nb: *x\n"),
      "f:1:4: a: has an anchor, allowed: plain values; extends shares settings between files");
  EXPECT_EQ(error_in("a: !!int 1\n"),
            "f:1:4: a: has the tag tag:yaml.org,2002:int, allowed: plain values without tags");
  EXPECT_EQ(error_in("a: 1\n---\nb: 2\n"),
            "f:2:1: is a second document, allowed: one document per file");
  EXPECT_EQ(error_in(std::string_view("a: 1\nb\0: 2", 9)),
            "f:2:2: holds the byte 0x00, allowed: YAML text in UTF-8");
  EXPECT_EQ(error_in("a: \xff"), "f:1:4: holds the byte 0xff, allowed: YAML text in UTF-8");
  EXPECT_EQ(error_in("a: \xc0\xaf"), "f:1:4: holds the byte 0xc0, allowed: YAML text in UTF-8");
  EXPECT_EQ(error_in("? [a, b]\n: 1\n"),
            "f:1:3: is a key that is a list or a mapping, allowed: a word");
}

// The first and the last character of each length, and around the surrogates (RFC 3629, section 4).
TEST(Document, IsUtf8) {
  for (const char* good : {"\xC2\xA0", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBD", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBD"})
    EXPECT_EQ(flat(parse_document(std::string("a: ") + good, "f")),
              std::string("{a: ") + good + "}");
  for (const char* wrong :
       {"\x80", "\xBF", "\xC1\xBF", "\xC2", "\xC2\xC0", "\xDF\x7A", "\xE0\x9F\xBF", "\xE0\xA0",
        "\xE0\xA0\xC0", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80", "\xF0\x90\x80\xC0",
        "\xF0\x90\xC0\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x1F", "\x7F"})
    EXPECT_NE(error_in(std::string("a: ") + wrong).find("holds the byte"), std::string::npos);
}

TEST(Document, MayEndInsideALineOrBeforeAValue) {
  EXPECT_EQ(parse_document("a:", "f").find("a")->kind, Node::Kind::null);
  EXPECT_EQ(parse_document("a: ''", "f").find("a")->text, "");
}

TEST(Document, TheFirstOfARepeatedKeyCountsWhereTheErrorIsKept) {
  std::vector<Diagnostic> repeated;
  EXPECT_EQ(flat(parse_document("a: 1\na: {b: 2}\nc: 3\n", "f", &repeated)), "{a: 1, c: 3}");
  ASSERT_EQ(repeated.size(), 1U);
  EXPECT_EQ(repeated[0].text(),
            "f:2:1: a: is given twice, first in line 1, allowed: each key once");
  EXPECT_THROW(parse_document("a: 1\na: 2\n? [b]\n: 3\n", "f", &repeated), InputError);
}

TEST(Document, QuotedTextsHaveAnEnd) {
  EXPECT_EQ(flat(parse_document("a: \"x\\\"y\"\nb: 'it''s'\n\"c\": ''", "f")),
            "{a: 'x\"y', b: 'it's', c: ''}");
  EXPECT_EQ(error_in("a: 1\nb: \"x\n"), "f:2:4: b: is not YAML: the quoted text has no end");
  EXPECT_EQ(error_in("b: 'it''s\n"), "f:1:4: b: is not YAML: the quoted text has no end");
  EXPECT_EQ(error_in("\xC3\xA4: 1\nb: 'x\n"), "f:2:4: b: is not YAML: the quoted text has no end");
}

TEST(Document, NestsOnlySoDeep) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(flat(parse_document(nested(64), "f")), nested(64));
  EXPECT_NE(error_in(nested(65)).find("is nested too deeply, allowed: 64 levels"),
            std::string::npos);
  EXPECT_NE(error_in(std::string(100000, '[')).find("is nested too deeply"), std::string::npos);
  EXPECT_NE(error_in(std::string(100000, '{')).find("is nested too deeply"), std::string::npos);
}

TEST(Merge, MappingsMergeListsReplace) {
  EXPECT_EQ(flat(merged("{a: {b: 1, c: 2}, d: [1, 2], e: 5}", "{a: {c: 3, f: 4}, d: [9]}")),
            "{a: {b: 1, c: 3, f: 4}, d: [9], e: 5}");
  EXPECT_EQ(flat(merged("{a: none}", "{a: {b: 1}}")), "{a: {b: 1}}");
  EXPECT_EQ(flat(merged("{a: {b: 1}}", "{a: none}")), "{a: none}");
}

TEST(Merge, AnotherKindReplaces) {
  EXPECT_EQ(flat(merged("{f: {kind: mesh, link: 1}}", "{f: {kind: switch, port: 2}}")),
            "{f: {kind: switch, port: 2}}");
  EXPECT_EQ(flat(merged("{f: {kind: mesh, link: 1, e: 2}}", "{f: {kind: mesh, link: 3}}")),
            "{f: {kind: mesh, link: 3, e: 2}}");
}

TEST(Merge, ANewNumberForgetsTheOldNote) {
  EXPECT_EQ(flat(merged("{a: {value: 1, source: measured, note: old}}",
                        "{a: {value: 2, source: assumed}}")),
            "{a: {value: 2, source: assumed}}");
}

TEST(Merge, EachValueKeepsItsPlace) {
  const Node root = merged("a: {b: 1, c: 2}\n", "\na: {c: 3}\n");
  EXPECT_EQ(root.find("a")->find("b")->place.file, "base");
  EXPECT_EQ(root.find("a")->find("c")->place.file, "over");
  EXPECT_EQ(root.find("a")->find("c")->place.line, 2);
}

TEST(Extends, LooksBesideTheFileThenOnTheSearchPath) {
  const TemporaryFiles files;
  files.write("near/base.yaml", "a: near\n");
  files.write("far/base.yaml", "a: far\n");
  files.write("far/only.yaml", "extends: base.yaml\nb: far\n");
  const std::string top =
      files.write("near/top.yaml", "x: {extends: base.yaml}\ny: {extends: only.yaml, b: mine}\n");
  const Node root = load_document(top, {{files.path("far")}});
  EXPECT_EQ(flat(root), "{x: {a: near}, y: {a: far, b: mine}}");
}

TEST(Extends, TakesTheNameOfAPreset) {
  const TemporaryFiles files;
  files.write("presets/clusters/some.yaml", "a: 1\n");
  files.write("presets/models/some.yaml", "b: 2\n");
  const std::string top =
      files.write("top.yaml", "cluster: {extends: some}\nmodel: {extends: some}\n");
  EXPECT_EQ(flat(load_document(top, {{files.path("presets")}})),
            "{cluster: {a: 1}, model: {b: 2}}");
}

TEST(Extends, NestsAndTheExtendingSideWins) {
  const TemporaryFiles files;
  files.write("c.yaml", "a: 1\nb: {x: 1, y: 1, z: 1}\n");
  files.write("b.yaml", "extends: c.yaml\nb: {y: 2, z: 2}\n");
  const std::string top = files.write("a.yaml", "b: {z: 3}\nextends: b.yaml\n");
  EXPECT_EQ(flat(load_document(top, {})), "{a: 1, b: {x: 1, y: 2, z: 3}}");
}

TEST(Extends, CyclesAndMissingFilesNameTheKey) {
  const TemporaryFiles files;
  const std::string a = files.write("a.yaml", "m: {extends: b.yaml}\n");
  const std::string b = files.write("b.yaml", "k: 1\nextends: a.yaml\n");
  EXPECT_EQ(error_of([&] { load_document(a, {}); }),
            b + ":2:10: extends: extends " + a +
                ", which is being read: a cycle, allowed: a tree of files");
  const std::string self = files.write("self.yaml", "extends: self.yaml\n");
  EXPECT_NE(error_of([&] { load_document(self, {}); }).find("a cycle"), std::string::npos);
  const std::string lost = files.write("lost.yaml", "m:\n  extends: gone.yaml\n");
  EXPECT_EQ(error_of([&] { load_document(lost, {{"/presets"}}); }),
            lost + ":2:12: m.extends: names 'gone.yaml', which does not exist in " +
                files.path("").substr(0, files.path("").size() - 1) + ", /presets");
  const std::string dir = files.write("dir.yaml", "extends: .\n");
  EXPECT_NE(error_of([&] { load_document(dir, {}); }).find("is a directory, allowed: a YAML file"),
            std::string::npos);
  const std::string list = files.write("list.yaml", "extends: [a.yaml]\n");
  EXPECT_EQ(error_of([&] { load_document(list, {}); }),
            list + ":1:10: extends: does not name a file, allowed: the path of one YAML file");
}

TEST(Extends, FilesThatMultiplyEndInAnError) {
  const TemporaryFiles files;
  for (int i = 0; i < 25; ++i) {
    const std::string next = std::to_string(i + 1) + ".yaml";
    files.write(std::to_string(i) + ".yaml",
                "a: {extends: " + next + "}\nb: {extends: " + next + "}\n");
  }
  files.write("25.yaml", "x: 1\n");
  EXPECT_NE(error_of([&] { load_document(files.path("0.yaml"), {}); }).find("extends too much"),
            std::string::npos);
}

TEST(Extends, ChainsAreOfThirtyThreeFiles) {
  const TemporaryFiles files;
  const auto chain = [&](int length) {
    for (int i = 1; i < length; ++i)
      files.write(std::to_string(i) + ".yaml", "extends: " + std::to_string(i + 1) + ".yaml\n");
    files.write(std::to_string(length) + ".yaml", "x: 1\n");
    return error_of([&] { load_document(files.path("1.yaml"), {}); });
  };
  EXPECT_EQ(chain(33), "no error");
  EXPECT_NE(chain(34).find("extends too much"), std::string::npos);
}

TEST(LoadDocument, FilesThatCannotBeRead) {
  const TemporaryFiles files;
  const std::string gone = files.path("gone.yaml");
  EXPECT_EQ(error_of([&] { load_document(gone, {}); }),
            gone + ": does not exist, allowed: a YAML file, or a shipped one, see stepcast list");
  EXPECT_EQ(error_of([&] { read_document_text(gone, {}, "a CSV file"); }),
            gone + ": does not exist, allowed: a CSV file");
  files.write("d/x", "");
  EXPECT_EQ(error_of([&] { load_document(files.path("d"), {}); }),
            files.path("d") + ": is a directory, allowed: a YAML file");
  const std::string large = files.write("large.yaml", std::string((16U << 20U) + 1, '#'));
  EXPECT_EQ(error_of([&] { load_document(large, {}); }),
            large + ": is larger than 16 MiB, allowed: a YAML file");
}

TEST(Override, SetsKeysThatAreThereOrNot) {
  Node root = parse_document("a: {b: 1, l: [{x: 1}, {x: 2}]}\nn: none\n", "f");
  for (const char* assignment :
       {"a.b=2", "a.c.d=[1, 2]", "a.l.1.x=7", "n.k=v", "t={p: {q: 1}}", "t.p={r: 2}"}) {
    apply_override(root, assignment, {});
  }
  EXPECT_EQ(flat(root),
            "{a: {b: 2, l: [{x: 1}, {x: 7}], c: {d: [1, 2]}}, n: {k: v}, t: {p: {q: 1, r: 2}}}");
  EXPECT_EQ(root.find("a")->find("b")->place.file, "--set a.b=2");
  EXPECT_EQ(root.find("a")->find("b")->place.line, 0);
}

TEST(Override, MayExtendAPreset) {
  const TemporaryFiles files;
  files.write("p.yaml", "x: 1\ny: 2\n");
  Node root = parse_document("a: {x: 5}\n", "f");
  apply_override(root, "a={extends: p.yaml}", {{files.path("")}});
  EXPECT_EQ(flat(root), "{a: {x: 1, y: 2}}");
}

TEST(Override, WrongOnesSayWhatIsAllowed) {
  Node root = parse_document("a: 1\n", "f");
  const auto error = [&](const std::string& text) {
    return error_of([&] { apply_override(root, text, {}); });
  };
  EXPECT_EQ(error("a.b"), "--set a.b: has no '=', allowed: --set path.to.key=value");
  EXPECT_EQ(error("=1"),
            "--set =1: has no path of keys before '=', allowed: --set path.to.key=value");
  EXPECT_EQ(error("a..b=1"),
            "--set a..b=1: has no path of keys before '=', allowed: --set path.to.key=value");
  EXPECT_EQ(error("a=[1"),
            "--set a=[1: a: is not YAML: end of sequence flow not found, allowed: a } or ] for "
            "each { or [ above");
  EXPECT_NE(error(std::string(1000, '.') + "=1").find("has no path of keys"), std::string::npos);
  const auto deep = [](int keys) {
    std::string path = "b";
    for (int i = 1; i < keys; ++i) path += ".b";
    return path + "=1";
  };
  EXPECT_EQ(error(deep(64)), "no error");
  EXPECT_NE(error(deep(65)).find("has no path of keys"), std::string::npos);
  EXPECT_EQ(error("key={extends: gone.yaml}"),
            "--set key={extends: gone.yaml}: key.extends: names 'gone.yaml', which does not exist "
            "in .");
}

TEST(Override, MultipliesWhatIsWritten) {
  const auto scaled = [](const std::string& assignment) -> std::string {
    Node root = parse_document("a: {b: 1.5TB/s, c: {value: 80%, source: x}, d: auto, e: [1], f: 7}",
                               "t.yaml");
    try {
      apply_override(root, assignment, {});
    } catch (const InputError& error) {
      return error.what();
    }
    std::string text;
    for (const char* key : {"b", "f"}) text += root.find("a")->find(key)->text + " ";
    return text + root.find("a")->find("c")->find("value")->text;
  };
  EXPECT_EQ(scaled("a.b=*=1.2"), "1.8TB/s 7 80%");
  EXPECT_EQ(scaled("a.c=*=0.5"), "1.5TB/s 7 40%");
  EXPECT_EQ(scaled("a.f=*=2"), "1.5TB/s 14 80%");
  for (const char* wrong : {"a.d=*=2", "a.e=*=2", "a=*=2"})
    EXPECT_NE(scaled(wrong).find("no single number"), std::string::npos) << scaled(wrong);
  EXPECT_NE(scaled("a.x=*=2").find("is not written"), std::string::npos) << scaled("a.x=*=2");
  for (const char* wrong : {"a.b=*=", "a.b=*=x", "a.b=*=0", "a.b=*=-1", "a.b=*=nan"})
    EXPECT_NE(scaled(wrong).find("a number above 0"), std::string::npos) << scaled(wrong);
}

}  // namespace
}  // namespace stepcast
