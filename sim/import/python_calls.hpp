#pragma once
#include <string>
#include <vector>

#include "launch.hpp"

/// Configurations in Python as values: calls with keyword arguments, names, numbers and lists.
/// Nothing is run, and what is not one of these is unknown.
namespace stepcast::launch::python {

struct Value {
  struct Keyword;
  enum class Kind { unknown, scalar, list, call };
  Kind kind = Kind::unknown;
  Place place;
  std::string text;          ///< of a scalar: `True`, `8192`, a text without its quotes
  std::string callee;        ///< of a call, as written: `FullAC.Config`
  std::vector<Value> items;  ///< of a list, or positional arguments of a call
  std::vector<Keyword> keywords;

  const Value* find(std::string_view keyword) const;
  Value& at(const std::string& keyword);
};

struct Value::Keyword {
  std::string name;
  Value value;
};

/// Functions of a file whose result is `Trainer.Config`, in their order.
std::vector<std::string> configurations(const std::string& text);

/// What a function returns, assignments to its fields counted. Throws InputError: a function that
/// is not there, and statements that are not followed, with their place.
Value configuration(const std::string& path, const std::string& text, const std::string& function);

}  // namespace stepcast::launch::python
