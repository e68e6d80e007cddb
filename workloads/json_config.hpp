#pragma once
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/errors.hpp"

namespace stepcast {

/// A JSON object whose values are asked for by name. Every error is kept, with the file and the
/// key, until finish(). Where a value has several names, the first that is there and not null
/// counts; errors name the first.
class JsonConfig {
 public:
  using Keys = std::initializer_list<std::string_view>;

  /// Throws InputError: missing or unreadable file, bad JSON (with line and column), no object.
  explicit JsonConfig(const std::filesystem::path& path);
  JsonConfig(const JsonConfig&) = delete;
  JsonConfig& operator=(const JsonConfig&) = delete;
  ~JsonConfig();

  /// Goes into an object of this one, whose keys count from here on; errors name them behind its
  /// name. `inherited` are keys of this one that count where that one has none.
  void enter(const std::string& key, Keys inherited);
  /// Values of keys that are not there, as JSON. `null` is there, and stays.
  void fill(std::string_view defaults);
  /// The names of the objects in this one.
  std::vector<std::string> objects() const;

  bool has(Keys keys) const;
  /// Whether the file itself has it, and it is not null.
  bool said(std::string_view key) const;
  /// Whether somebody asked for it.
  bool asked(std::string_view key) const;
  bool is_list(std::string_view key) const;
  bool is_text(std::string_view key) const;
  /// A whole number from `low` to 2^24; 1 stands for one that did not read.
  std::int64_t count(Keys keys, std::int64_t low = 1);
  std::int64_t count_or(std::int64_t missing, Keys keys, std::int64_t low = 1);
  bool flag_or(bool missing, Keys keys);
  std::string text(Keys keys);
  std::string text_or(std::string missing, Keys keys);
  std::vector<std::int64_t> counts(Keys keys);  ///< empty when missing
  std::vector<std::string> texts(Keys keys);    ///< empty when missing

  void fail(std::string_view key, std::string message);
  bool failed() const { return !diagnostics_.empty(); }
  /// Whether none of the keys, by the names that errors give them, failed so far.
  bool good(Keys keys) const;
  /// Throws InputError with everything that was wrong.
  void finish() const;

 private:
  struct Tree;

  std::string file_, inside_;  ///< the object that was entered, with a dot
  std::unique_ptr<Tree> tree_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace stepcast
