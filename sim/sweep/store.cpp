#include "stepcast/sim/sweep/store.hpp"

#include <fmt/format.h>

#include <utility>

#include "stepcast/base/build.hpp"
#include "stepcast/base/byte_sum.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/sqlite.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// Counts up with every change of the table that an older program would misread.
constexpr int store_format = 5;
constexpr int application = 0x53435354;  ///< `PRAGMA application_id` of a store: "SCST"

constexpr const char* text_columns[] = {"key",    "version", "fingerprint", "sweep",  "point",
                                        "values", "varied",  "status",      "reason", "schedule"};

std::string columns() {
  std::string text;
  for (const char* column : text_columns)
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", column);
  for (const std::string& column : number_names()) text += fmt::format(", \"{}\"", column);
  return text;
}

/// What the table must be; a program with other columns writes another format.
std::string table_text() {
  std::string text = "CREATE TABLE points (";
  for (const char* column : text_columns)
    text += fmt::format("\"{}\" {} NOT NULL, ", column,
                        std::string_view(column) == "point" ? "INTEGER" : "TEXT");
  for (const std::string& column : number_names()) text += fmt::format("\"{}\" REAL, ", column);
  return text + "\"sum\" INTEGER NOT NULL, PRIMARY KEY (key, version, fingerprint)) WITHOUT ROWID";
}

/// All that a store is made of. `whole` says how many rows there are and what their checksums add
/// up to, which SQLite keeps together with each row: a row that is lost shows.
std::vector<std::string> schema() {
  const auto trigger = [](const char* event, const std::string& changes) {
    return fmt::format(
        "CREATE TRIGGER points_{0} AFTER {0} ON points BEGIN UPDATE whole SET {1}; END", event,
        changes);
  };
  const auto added = [](const std::string& sum) {
    return fmt::format("total = (total + {}) & {}", sum, ByteSum::mask);
  };
  // SQLite has signed numbers of 64 bits: sums stay below the mask, and are subtracted by adding
  // what is left to it.
  const std::string taken = fmt::format("{} - old.sum", ByteSum::mask + 1);
  return {table_text(), "CREATE TABLE whole (points INTEGER NOT NULL, total INTEGER NOT NULL)",
          trigger("insert", "points = points + 1, " + added("new.sum")),
          trigger("delete", "points = points - 1, " + added(taken)),
          trigger("update", added(fmt::format("(({} + new.sum) & {})", taken, ByteSum::mask)))};
}

/// Only the first by (sweep, point) stays of several.
std::string put_text() {
  std::string places, updates;
  const std::size_t count = std::size(text_columns) + number_names().size() + 1;
  for (std::size_t i = 0; i < count; ++i) places += i > 0 ? ", ?" : "?";
  std::vector<std::string> changed{"sweep",  "point",  "values",   "varied",
                                   "status", "reason", "schedule", "sum"};
  changed.insert(changed.end(), number_names().begin(), number_names().end());
  for (const std::string& column : changed)
    updates += fmt::format("{0}\"{1}\" = excluded.\"{1}\"", updates.empty() ? "" : ", ", column);
  return fmt::format(
      "INSERT INTO points ({}, sum) VALUES ({}) ON CONFLICT (key, version, fingerprint) DO UPDATE "
      "SET {} WHERE (excluded.sweep, excluded.point) < (points.sweep, points.point)",
      columns(), places, updates);
}

}  // namespace

struct Store::Connection : SqliteFile {
  using SqliteFile::SqliteFile;

  [[noreturn]] void refuse(const std::string& message) const { refuse_input({path}, {}, message); }
  [[noreturn]] void refuse(int code) const {
    switch (code & 0xff) {
      case SQLITE_READONLY:
      case SQLITE_PERM:
        refuse("is read-only, allowed: a store in a folder that is writable");
      case SQLITE_CANTOPEN:
        refuse("cannot be opened, allowed: a file in a folder that exists and is writable");
      case SQLITE_FULL:
        refuse("the disk is full; what was stored before is kept");
      case SQLITE_IOERR:
        refuse(fmt::format("cannot be written ({}); what was stored before is kept",
                           sqlite3_errstr(code)));
      case SQLITE_NOTADB:
        refuse("is no store, allowed: a file that stepcast sweep wrote");
      case SQLITE_CORRUPT:
        refuse("is damaged and left as it is, allowed: another file, or a copy of this one");
      case SQLITE_BUSY:
        refuse("is locked by another program for more than a minute");
      default:
        refuse(fmt::format("{} ({})", sqlite3_errmsg(db), sqlite3_errstr(code)));
    }
  }
  void check(int code) const {
    if (code != SQLITE_OK)
      refuse(sqlite3_extended_errcode(db) != 0 ? sqlite3_extended_errcode(db) : code);
  }
  void run(const std::string& sql) const {
    check(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr));
  }
  /// SQLite does not wait where two processes change the journal of a new file at once.
  void write_ahead() const {
    constexpr int pause_ms = 5;
    int code = SQLITE_BUSY;
    for (int waited = 0; code == SQLITE_BUSY && waited < sqlite_patience_ms; waited += pause_ms) {
      code = sqlite3_exec(db, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
      if (code == SQLITE_BUSY) sqlite3_sleep(pause_ms);
    }
    check(code);
  }
  std::int64_t number(const char* sql) const;
  void open_existing();
  /// Refuses a store of which a row was changed or is missing.
  void verify() const;
  [[noreturn]] void damaged(const std::vector<std::string>& what) const {
    refuse("is damaged and left as it is: " + joined(what) +
           "; allowed: another file, or a copy of this one");
  }
  /// The points with a column for each key that varies in any of them.
  std::string points_by_key() const;
};

namespace {

/// Failed points are not stored: for a word that no version wrote.
PointStatus status_of(const std::string& text) {
  for (const PointStatus s : {PointStatus::ok, PointStatus::out_of_memory, PointStatus::invalid})
    if (text == name(s)) return s;
  return PointStatus::failed;
}

PointResult row_of(SqliteStatement& statement) {
  PointResult r{.key = statement.text(0),
                .version = statement.text(1),
                .fingerprint = statement.text(2),
                .sweep = statement.text(3),
                .point = statement.whole(4),
                .values = statement.text(5),
                .varied = varied_from(statement.text(6)),
                .status = status_of(statement.text(7)),
                .reason = statement.text(8),
                .schedule = statement.text(9)};
  // Numbers stand behind the texts, in the order of number_names().
  for (std::size_t i = 0; i < number_names().size(); ++i)
    r.numbers.push_back(statement.number(static_cast<int>(std::size(text_columns) + i)));
  return r;
}

/// The checksum of a row, column by column.
std::int64_t sum_of(const PointResult& row) {
  ByteSum sum;
  for (const std::string* text : {&row.key, &row.version, &row.fingerprint, &row.sweep})
    sum.add(*text);
  sum.add(row.point);
  for (const std::string& text :
       {row.values, varied_json(row), std::string(stepcast::name(row.status)), row.reason,
        row.schedule})
    sum.add(text);
  for (const auto& number : row.numbers) sum.add(number);
  return sum.value();
}

/// The checksum that stands behind the columns of a row; nothing where they say something else.
/// Values have the kinds that a writer gives them: `--where` tells a text from the same bytes as a
/// blob.
std::optional<std::int64_t> sum_of(SqliteStatement& statement) {
  const auto texts = static_cast<int>(std::size(text_columns));
  const auto all = texts + static_cast<int>(number_names().size());
  ByteSum sum;
  for (int i = 0; i < all; ++i) {
    const int type = statement.type(i);
    const bool is_point = i < texts && std::string_view(text_columns[i]) == "point";
    if (i >= texts ? type != SQLITE_FLOAT && type != SQLITE_NULL
                   : type != (is_point ? SQLITE_INTEGER : SQLITE_TEXT))
      return {};
    if (i >= texts)
      sum.add(statement.number(i));
    else if (is_point)
      sum.add(statement.whole(i));
    else
      sum.add(statement.text(i));
  }
  if (statement.type(all) != SQLITE_INTEGER || statement.whole(all) != sum.value()) return {};
  return sum.value();
}

std::string row_name(const PointResult& row) {
  return fmt::format("the row of point {} of {} ({}) was changed", row.point,
                     stepcast::shortened(visible(row.sweep)),
                     stepcast::shortened(visible(row.values)));
}

/// `file:` and the path, as SQLite reads it, for a file that nobody changes: nothing is written
/// beside it.
std::string fixed_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path)
    uri += std::string_view("%?#").find(c) == std::string_view::npos
               ? std::string(1, c)
               : fmt::format("%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return uri + "?immutable=1";
}

}  // namespace

/// A folder that takes no files beside the store cannot hold SQLite's index of its journal: then
/// the store is read as it stands, which needs an empty journal.
void Store::Connection::open_existing() {
  const int code = is_confined()
                       ? SQLITE_READONLY
                       : sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr);
  const bool opened = code == SQLITE_OK && sqlite3_exec(db, "SELECT count(*) FROM sqlite_master",
                                                        nullptr, nullptr, nullptr) == SQLITE_OK;
  const int failed = opened ? SQLITE_OK : db == nullptr ? code : sqlite3_errcode(db) & 0xff;
  if (failed != SQLITE_CANTOPEN && failed != SQLITE_READONLY) return check(code);
  if (size_of(path + "-wal") > 0)
    refuse("is read-only and its journal holds rows, allowed: one that was closed");
  // `immutable` promises SQLite that nobody writes, so that it needs no lock and no index beside
  // the file.
  sqlite3_close_v2(std::exchange(db, nullptr));
  check(sqlite3_open_v2(fixed_uri(path).c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                        nullptr));
}

std::int64_t Store::Connection::number(const char* sql) const {
  SqliteStatement statement(db, sql);
  check(statement.code());
  const int code = statement.step();
  if (code == SQLITE_DONE) return 0;
  if (code != SQLITE_ROW) check(code);
  return statement.whole(0);
}

Store::Store(const std::string& path, Open how) : connection_{std::make_unique<Connection>(path)} {
  Connection& c = *connection_;
  if (how == Open::create && is_confined()) c.refuse("is a file, and none is written here");
  if (how == Open::existing && !is_there(path))
    c.refuse("does not exist, allowed: a store that stepcast sweep wrote");
  if (how == Open::existing) {
    c.open_existing();
  } else {
    c.check(
        sqlite3_open_v2(path.c_str(), &c.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr));
  }
  sqlite3_busy_timeout(c.db, sqlite_patience_ms);
  if (how == Open::create && sqlite3_db_readonly(c.db, "main") == 1) c.refuse(SQLITE_READONLY);
  // In this order: what another process makes in between is then seen as made.
  const bool empty = c.number("SELECT count(*) FROM sqlite_master") == 0;
  const std::int64_t owner = c.number("PRAGMA application_id");
  const bool fresh = empty && owner == 0;
  if (!fresh && owner != application) c.refuse(SQLITE_NOTADB);
  if (fresh && how == Open::existing) c.refuse(SQLITE_NOTADB);
  if (fresh) {
    c.write_ahead();
    c.run("BEGIN IMMEDIATE");  // two sweeps may begin one store at once
    if (c.number("PRAGMA application_id") == 0) {
      for (const std::string& text : schema()) c.run(text);
      c.run("INSERT INTO whole VALUES (0, 0)");
      c.run(fmt::format("PRAGMA user_version = {}", store_format));
      c.run(fmt::format("PRAGMA application_id = {}", application));
    }
    c.run("COMMIT");
  }
  // Without a sync per row a power cut may lose the last rows, never the file.
  if (how == Open::create) c.run("PRAGMA synchronous = NORMAL");
  const std::int64_t format = c.number("PRAGMA user_version");
  std::vector<std::string> texts;
  SqliteStatement made(c.db, "SELECT sql FROM sqlite_master ORDER BY rowid");
  while (made.step() == SQLITE_ROW) texts.push_back(made.text(0));
  const bool same = texts == schema();
  if (format != store_format || !same)
    c.refuse(
        fmt::format("is a store of another version (format {}), allowed: one that version {} "
                    "wrote, format {}",
                    format, version, store_format));
  c.verify();
}

Store::~Store() = default;

std::string Store::Connection::points_by_key() const {
  std::string text = "(SELECT points.*";
  // Keys that any row varies become columns, so that --where can name them.
  SqliteStatement keys(
      db, "SELECT DISTINCT j.key FROM points, json_each(points.varied) AS j ORDER BY 1");
  check(keys.code());
  int code = keys.step();
  for (; code == SQLITE_ROW; code = keys.step()) {
    // SQLite has no parameters for names of columns.
    const std::string key = keys.text(0);
    if (key.find_first_of("\"'") != std::string::npos) continue;  // no key of a scenario
    text += fmt::format(", json_extract(varied, '$.\"{}\"') AS \"{}\"", key, key);
  }
  if (code != SQLITE_DONE) check(code);
  return text + " FROM points)";
}

std::optional<PointResult> Store::find(const std::string& key, Builds builds) const {
  // Another build may have computed other numbers; its rows count where that was asked for, the own
  // ones first.
  const std::string own = "(version = ? AND fingerprint = ?)";
  const std::string which = builds == Builds::own
                                ? " AND " + own
                                : " ORDER BY " + own + " DESC, version DESC, fingerprint LIMIT 1";
  SqliteStatement statement(connection_->db,
                            "SELECT " + columns() + ", sum FROM points WHERE key = ?" + which);
  connection_->check(statement.code());
  statement.bind(1, key);
  statement.bind(2, std::string(version));
  statement.bind(3, build_fingerprint());
  const int code = statement.step();
  if (code == SQLITE_DONE) return {};
  if (code != SQLITE_ROW) connection_->check(code);
  const bool whole = sum_of(statement).has_value();
  PointResult row = row_of(statement);
  if (!whole) connection_->damaged({row_name(row)});
  return row;
}

/// One transaction, since others may write meanwhile.
void Store::Connection::verify() const {
  constexpr std::size_t most_named = 5;
  run("BEGIN");
  std::vector<std::string> wrong;
  std::int64_t count = 0;
  // The sum over rows does not depend on their order, since several programs may have written.
  std::uint64_t sum = 0;
  {
    SqliteStatement rows(db, "SELECT " + columns() + ", sum FROM points");
    check(rows.code());
    int code = rows.step();
    for (; code == SQLITE_ROW; code = rows.step(), ++count) {
      const auto own = sum_of(rows);
      sum = (sum + static_cast<std::uint64_t>(own.value_or(0))) & ByteSum::mask;
      if (!own && wrong.size() < most_named) wrong.push_back(row_name(row_of(rows)));
    }
    if (code != SQLITE_DONE) check(code);
  }
  // Rows that are right by themselves may still be too few or from elsewhere.
  if (wrong.empty()) {
    const std::int64_t said = number("SELECT sum(points) FROM whole");
    if (said != count)
      wrong.push_back(fmt::format("it holds {} rows of {}", count, said));
    else if (static_cast<std::uint64_t>(number("SELECT sum(total) FROM whole")) != sum)
      wrong.push_back("its rows are not those that were written");
  }
  run("COMMIT");
  if (!wrong.empty()) damaged(wrong);
}

void Store::put(const PointResult& result) {
  // The text is the same each time, and a sweep puts thousands of rows.
  static const std::string sql = put_text();
  SqliteStatement statement(connection_->db, sql);
  connection_->check(statement.code());
  int place = 0;
  for (const std::string* text : {&result.key, &result.version, &result.fingerprint, &result.sweep})
    statement.bind(++place, *text);
  statement.bind(++place, result.point);
  statement.bind(++place, result.values);
  statement.bind(++place, varied_json(result));
  statement.bind(++place, std::string(name(result.status)));
  statement.bind(++place, result.reason);
  statement.bind(++place, result.schedule);
  for (const auto& number : result.numbers) statement.bind(++place, number);
  // A checksum last: another program may have edited the row.
  statement.bind(++place, sum_of(result));
  const int code = statement.step();
  if (code != SQLITE_DONE) connection_->check(code);
}

void Store::put(const std::vector<PointResult>& results) {
  connection_->run("BEGIN IMMEDIATE");
  try {
    for (const PointResult& result : results) put(result);
    connection_->run("COMMIT");
  } catch (...) {
    sqlite3_exec(connection_->db, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

std::vector<PointResult> Store::rows(const std::string& where) const {
  const std::string filter = where.empty() ? "1" : where;
  SqliteStatement statement(connection_->db,
                            "SELECT " + columns() + ", sum FROM " + connection_->points_by_key() +
                                " WHERE (" + filter +
                                // The end of the line ends a comment, with which an expression
                                // could hide the bracket.
                                "\n) ORDER BY sweep, point, key, version, fingerprint");
  if (statement.code() == SQLITE_ERROR || !statement.single() || !statement.reads_only()) {
    const std::string why = statement.single() ? sqlite3_errmsg(connection_->db) : "more than one";
    refuse_input({}, "--where",
                 fmt::format("'{}' is no expression ({}), allowed: columns of the "
                             "CSV compared with values, \"mfu > 0.4 AND tp = 8\"",
                             where, why));
  }
  connection_->check(statement.code());
  std::vector<PointResult> rows;
  int code = statement.step();
  for (; code == SQLITE_ROW; code = statement.step()) {
    const bool whole = sum_of(statement).has_value();
    rows.push_back(row_of(statement));
    if (!whole) connection_->damaged({row_name(rows.back())});
  }
  if (code != SQLITE_DONE) connection_->check(code);
  return rows;
}

}  // namespace stepcast
