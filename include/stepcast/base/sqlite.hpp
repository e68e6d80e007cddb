#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

/// What the stores of sweeps and of searches share of SQLite. Each says itself what is wrong.
namespace stepcast {

constexpr int sqlite_patience_ms = 60'000;  ///< for another writer to finish one row

/// A handle with the name of its file, for errors.
struct SqliteFile {
  std::string path;
  sqlite3* db = nullptr;

  explicit SqliteFile(std::string file) : path{std::move(file)} {}
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;
  ~SqliteFile() { sqlite3_close_v2(db); }
};

/// One prepared statement.
class SqliteStatement {
 public:
  SqliteStatement(sqlite3* db, const std::string& sql) {
    code_ = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, &rest_);
    single_ = rest_ == nullptr || *rest_ == '\0';
  }
  ~SqliteStatement() { sqlite3_finalize(statement_); }
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  int code() const { return code_; }
  bool single() const { return single_; }
  bool reads_only() const { return sqlite3_stmt_readonly(statement_) != 0; }
  int step() { return sqlite3_step(statement_); }
  void bind(int place, const std::string& text) {
    sqlite3_bind_text(statement_, place, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  void bind(int place, std::int64_t number) { sqlite3_bind_int64(statement_, place, number); }
  void bind(int place, const std::optional<double>& number) {
    if (number) sqlite3_bind_double(statement_, place, *number);
  }
  std::string text(int column) {
    const auto* begin = sqlite3_column_text(statement_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return begin ? std::string(reinterpret_cast<const char*>(begin), size) : std::string{};
  }
  std::int64_t whole(int column) { return sqlite3_column_int64(statement_, column); }
  /// Of a value that was not asked for as another kind before.
  int type(int column) { return sqlite3_column_type(statement_, column); }
  std::optional<double> number(int column) {
    if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return {};
    return sqlite3_column_double(statement_, column);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  const char* rest_ = nullptr;
  int code_ = SQLITE_OK;
  bool single_ = true;
};

}  // namespace stepcast
