#pragma once
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace stepcast {

/// Appends values so that no two lists of them give one text: for asking within one process whether
/// two things are made of the same.
class KeyWriter {
 public:
  void text(const std::string& value) {
    number(value.size());
    key_ += value;
  }
  template <class Value>
  void number(Value value) {
    static_assert(std::is_arithmetic_v<Value> || std::is_enum_v<Value>);
    key_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class Value>
  void numbers(const std::vector<Value>& values) {
    number(values.size());
    for (const Value& value : values) number(value);
  }
  std::string take() { return std::move(key_); }

 private:
  std::string key_;
};

}  // namespace stepcast
