#pragma once
#include <string>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/document.hpp"

namespace stepcast {

/// Reads one value into the target of `field`. Returns what is wrong and what is allowed, empty
/// when all is well; then only is the target written.
std::string read_value(const Node& node, const Field& field);

/// What `field` accepts, for people: "a time such as 1.5us, more than 0s".
std::string allowed_values(const Field& field);

/// A value as an error quotes it: `'text'`, shortened; "a list", "a mapping", "empty".
std::string quoted(const Node& node);

/// Whether `{value, source, note}` may stand for the value.
bool may_state_source(const Target& target);

/// The names of the options that are built, as they are written: `ring, hybrid(n)`.
std::string built_options(const std::vector<Option>& options);

/// What is wrong with a word that must be one of `options`: not built yet, or unknown with the
/// nearest one.
std::string wrong_option(const std::string& word, const std::string& shown,
                         const std::vector<Option>& options, const std::string& allowed);

}  // namespace stepcast
