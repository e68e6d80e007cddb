#pragma once
#include "wrong_row.hpp"

namespace stepcast::test {

/// Whole files that hold no scenario.
inline constexpr WrongRow wrong_texts[] = {
    {"empty_file", {}, "", "s.yaml:1:1: is empty, allowed: a mapping that begins with stepcast: 1"},
    {"comment_only",
     {},
     "# question: nothing?\n",
     "s.yaml:1:1: is empty, allowed: a mapping that begins with stepcast: 1"},
    {"list_instead_of_mapping",
     {},
     "- stepcast: 1\n"
     "- name: x\n",
     "s.yaml:1:1: is a list, allowed: a mapping that begins with stepcast: 1"},
    {"word_instead_of_mapping",
     {},
     "stepcast\n",
     "s.yaml:1:1: is a single value, allowed: a mapping that begins with stepcast: 1"},
    {"truncated_flow",
     {},
     "stepcast: 1\n"
     "name: x\n"
     "cluster: {devices: 8, node: {dev",
     "s.yaml:3:1: is not YAML: end of map flow not found, allowed: a } or ] for each { or [ above"},
    {"truncated_quote",
     {},
     "stepcast: 1\n"
     "name: \"x\n",
     "s.yaml:2:7: name: is not YAML: the quoted text has no end"},
    {"tabs_as_indent",
     {},
     "stepcast: 1\n"
     "cluster:\n"
     "\tdevices: 8\n",
     "s.yaml:3:1: is indented with a tab, allowed: blanks"},
    {"wrong_indent",
     {},
     "stepcast: 1\n"
     "  name: x\n",
     "s.yaml:2:7: is not YAML: illegal map value, allowed: keys of one mapping in one column"},
    {"binary",
     {},
     std::string_view("\x7f"
                      "E"
                      "L"
                      "F"
                      "\x02\x01\x01\x00\x00\x00",
                      10),
     "s.yaml:1:1: holds the byte 0x7f, allowed: YAML text in UTF-8"},
    {"two_documents",
     {},
     "stepcast: 1\n"
     "---\n"
     "stepcast: 1\n",
     "s.yaml:2:1: is a second document, allowed: one document per file"},
    {"alias",
     {},
     "stepcast: 1\n"
     "name: &n x\n"
     "cluster: {name: *n}\n",
     "s.yaml:2:7: name: has an anchor, allowed: plain values; extends shares settings between "
     "files"},
    {"tag",
     {},
     "stepcast: !!int 1\n",
     "s.yaml:1:11: stepcast: has the tag tag:yaml.org,2002:int, allowed: plain values without "
     "tags"},
    {"cut_in_a_note",
     {},
     "stepcast: 1\n"
     "name: x\n"
     "cluster:\n"
     "  device:\n"
     "    matmul_peak: {value: 1TFLOPS, note: \"cut",
     "s.yaml:5:45: is not YAML: illegal EOF in scalar"},
    {"utf16", {}, "\xFF\xFEs", "s.yaml:1:1: holds the byte 0xff, allowed: YAML text in UTF-8"},
    {"json_numbers_without_units",
     {},
     "{\"stepcast\": 1, \"name\": \"x\", \"model\": {\"layers\": 1}}",
     "s.yaml:1:1: cluster: is missing, allowed: a mapping with device, node, network\n"
     "s.yaml:1:1: training: is missing, allowed: a mapping with global_batch\n"
     "s.yaml:1:39: model.hidden: is missing (hidden width), allowed: a whole number such as 8 or "
     "40Mi, 1 to 16777216\n"
     "s.yaml:1:39: model.attention: is missing, allowed: a mapping with heads, kv_heads, head_dim\n"
     "s.yaml:1:39: model.vocabulary: is missing (tokens of the vocabulary), allowed: a whole "
     "number such as 8 or 40Mi, 1 to 268435456\n"
     "s.yaml:1:39: model.ffn.hidden: is missing although the model has dense layers, allowed: at "
     "least 1"},
};

}  // namespace stepcast::test
