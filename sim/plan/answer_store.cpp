#include "answer_store.hpp"

#include <vector>

#include "stepcast/base/byte_sum.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/sqlite.hpp"

namespace stepcast {
namespace {

constexpr int application = 0x5343504c;  ///< `PRAGMA application_id` of such a file: "SCPL"
constexpr const char* table =
    "CREATE TABLE answers (key TEXT PRIMARY KEY, text BLOB NOT NULL, sum INTEGER NOT NULL) WITHOUT "
    "ROWID";

/// The checksum of an answer and of the question that it is for.
std::int64_t sum_of(const std::string& key, const std::string& text) {
  ByteSum sum;
  sum.add(key);
  sum.add(text);
  return sum.value();
}

}  // namespace

struct AnswerStore::Connection : SqliteFile {
  using SqliteFile::SqliteFile;

  void check(int code) const {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    // Without a handle only the code says what was wrong.
    const std::string why =
        code == SQLITE_NOTADB || db == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db);
    refuse_input({path}, {},
                 "cannot keep a search (" + why + "), allowed: a file of stepcast plan --store");
  }
  void run(const std::string& sql) const {
    check(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr));
  }
  /// Whether there is a row.
  bool step(SqliteStatement& statement) const {
    check(statement.code());
    const int code = statement.step();
    check(code);
    return code == SQLITE_ROW;
  }
  std::string text(const char* sql) const {
    SqliteStatement statement(db, sql);
    return step(statement) ? statement.text(0) : "";
  }
};

AnswerStore::AnswerStore(const std::string& path)
    : connection_{std::make_unique<Connection>(path)} {
  Connection& c = *connection_;
  if (is_confined()) refuse_input({path}, {}, "is a file, and none is written here");
  c.check(
      sqlite3_open_v2(path.c_str(), &c.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr));
  sqlite3_busy_timeout(c.db, sqlite_patience_ms);
  // The lock comes before the question whether the file is new: another search may open it too.
  c.run("BEGIN IMMEDIATE");
  const bool fresh = c.text("SELECT count(*) FROM sqlite_master") == "0";
  if (!fresh && c.text("PRAGMA application_id") != std::to_string(application))
    refuse_input({path}, {},
                 "is no store of a search, allowed: a file that stepcast plan --store wrote");
  if (fresh) {
    c.run(table);
    c.run("PRAGMA application_id = " + std::to_string(application));
  }
  if (c.text("SELECT group_concat(sql, char(10)) FROM sqlite_master") != table)
    refuse_input({path}, {},
                 "is a store of another version or damaged, allowed: one that this "
                 "version of stepcast plan --store wrote");
  c.run("COMMIT");
  // Without a sync per answer a power cut may lose the last ones, never the file.
  c.run("PRAGMA synchronous = OFF");
}

AnswerStore::~AnswerStore() = default;

std::optional<std::string> AnswerStore::find(const std::string& key) const {
  // Bytes are bound and not copied into the text, whatever they hold.
  SqliteStatement statement(connection_->db, "SELECT text, sum FROM answers WHERE key = ?");
  statement.bind(1, key);
  if (!connection_->step(statement)) return {};
  std::string text = statement.text(0);
  if (statement.whole(1) != sum_of(key, text))
    refuse_input({connection_->path}, {},
                 "is damaged and left as it is: the answer " + key +
                     " was changed; allowed: another file, or a copy of this one");
  return text;
}

void AnswerStore::put(const std::string& key, const std::string& text) {
  SqliteStatement statement(connection_->db, "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)");
  statement.bind(1, key);
  statement.bind(2, text);
  statement.bind(3, sum_of(key, text));
  connection_->step(statement);
}

void run_kept(AnswerStore* store, std::size_t count, int workers,
              const std::function<std::string(std::size_t)>& key,
              const std::function<std::string(std::size_t)>& job,
              const std::function<void(const WorkerAnswer&)>& done) {
  std::vector<std::size_t> missing;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    // Without a store no key is needed, and making one may be dear.
    const std::string own = store != nullptr ? key(i) : std::string{};
    if (const auto text = store != nullptr ? store->find(own) : std::nullopt) {
      // Known answers come first, in order of their numbers.
      done({i, *text, {}});
      continue;
    }
    missing.push_back(i);
    keys.push_back(own);
  }
  run_in_workers(
      missing.size(), workers, [&](std::size_t k) { return job(missing[k]); },
      [&](const WorkerAnswer& answer) {
        // A failure may not come again, so that it is not kept.
        if (store != nullptr && !answer.failed()) store->put(keys[answer.index], answer.text);
        done({missing[answer.index], answer.text, answer.failure, answer.bad_input});
      });
}

}  // namespace stepcast
