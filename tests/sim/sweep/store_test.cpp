#include "stepcast/sim/sweep/store.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>

#include "stepcast/base/build.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using test::TemporaryFiles;

PointResult row(std::int64_t point, const std::string& sweep = "s") {
  PointResult result{.key = "key" + std::to_string(point),
                     .version = version,
                     .fingerprint = build_fingerprint(),
                     .sweep = sweep,
                     .point = point,
                     .values = "a=1",
                     .schedule = "1f1b"};
  result.numbers.resize(number_names().size());
  result.numbers[number_place("step_time_s")] = 0.1 + static_cast<double>(point);
  return result;
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

void sql(const std::string& path, const std::string& text) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
}

/// Runs the body in a process of its own and gives its exit code.
int in_process(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Store, RowsComeBackAsTheyWerePut) {
  const TemporaryFiles files;
  PointResult odd = row(3);
  odd.status = PointStatus::out_of_memory;
  odd.reason = "stage 0 needs 'more', \"much\" more";
  {
    Store store(files.path("s"), Store::Open::create);
    store.put(row(1));
    store.put(odd);
  }
  const Store store(files.path("s"), Store::Open::existing);
  EXPECT_EQ(store.rows(""), (std::vector<PointResult>{row(1), odd}));
  EXPECT_EQ(store.find("key3"), odd);
  EXPECT_EQ(store.find("key2"), std::nullopt);
}

TEST(Store, RowsOfAnotherVersionStayAndAreNotFound) {
  const TemporaryFiles files;
  Store store(files.path("s"), Store::Open::create);
  PointResult old = row(1);
  old.version = "0.0.1";
  store.put(old);
  EXPECT_EQ(store.find("key1"), std::nullopt);
  store.put(row(1));
  EXPECT_EQ(store.rows("").size(), 2U);
}

TEST(Store, RowsOfAnotherBuildAreFoundOnlyWhenAskedFor) {
  const TemporaryFiles files;
  Store store(files.path("s"), Store::Open::create);
  PointResult other = row(1);
  other.fingerprint = "0123456789abcdef";
  other.numbers[number_place("step_time_s")] = 7;
  store.put(other);
  EXPECT_FALSE(other.of_this_build());
  EXPECT_EQ(store.find("key1"), std::nullopt);
  EXPECT_EQ(store.find("key1", Store::Builds::any), other);
  store.put(row(1));
  EXPECT_EQ(store.find("key1"), row(1));
  EXPECT_EQ(store.find("key1", Store::Builds::any), row(1)) << "the own row comes first";
  EXPECT_EQ(store.rows("").size(), 2U);
}

TEST(Store, KeysThatVaryAreColumnsOfQueries) {
  const TemporaryFiles files;
  Store store(files.path("s"), Store::Open::create);
  for (int i = 0; i < 4; ++i) {
    PointResult result = row(i);
    result.varied = {{"parallel.vpp", std::to_string(1 << i)}, {"schedule.pipeline", "1f1b"}};
    store.put(result);
  }
  EXPECT_EQ(store.rows("\"parallel.vpp\" > 2").size(), 2U) << "8 is more than 4 as a number";
  EXPECT_EQ(store.rows("\"schedule.pipeline\" = '1f1b' AND \"parallel.vpp\" = 4").size(), 1U);
  EXPECT_EQ(store.rows("").front().varied.front().second, "1");
}

TEST(Store, TheOrderOfWritingDoesNotShow) {
  const TemporaryFiles files;
  std::vector<PointResult> rows{row(1), row(1), row(1)};
  rows[0].sweep = "b";
  rows[1].sweep = "a";
  rows[2].sweep = "a";
  rows[1].point = 7;
  std::vector<PointResult> kept;
  for (const std::vector<std::size_t>& order :
       {std::vector<std::size_t>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}}) {
    Store store(files.path("s" + std::to_string(order[0])), Store::Open::create);
    for (const std::size_t i : order) store.put(rows[i]);
    ASSERT_EQ(store.rows("").size(), 1U);
    kept.push_back(store.rows("").front());
  }
  EXPECT_EQ(kept, std::vector<PointResult>(3, rows[2]));
}

TEST(Store, WhereTakesOneExpressionThatOnlyReads) {
  const TemporaryFiles files;
  Store store(files.path("s"), Store::Open::create);
  for (int i = 0; i < 4; ++i) store.put(row(i));
  EXPECT_EQ(store.rows("step_time_s > 1 AND schedule = '1f1b'").size(), 3U);
  EXPECT_EQ(store.rows("mfu IS NULL").size(), 4U);
  for (const char* wrong :
       {"step_tim > 1", "1); DELETE FROM points; --", "1) ; --", "((", "1; SELECT 1"})
    EXPECT_NE(error_of([&] { store.rows(wrong); }).find("--where"), std::string::npos) << wrong;
  EXPECT_EQ(store.rows("").size(), 4U) << "nothing was deleted";
}

TEST(Store, TwoProcessesWriteOneStoreAtOnce) {
  const TemporaryFiles files;
  const std::string path = files.path("s");
  constexpr int each = 200;
  const auto write = [&](int first) {
    Store store(path, Store::Open::create);
    for (int i = 0; i < each; ++i) store.put(row(first + i));
  };
  const pid_t child = fork();
  if (child == 0) {
    const bool done = error_of([&] { write(each / 2); }) == "no error";
    _exit(done ? 0 : 1);
  }
  write(0);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Store(path, Store::Open::existing).rows("").size(), each * 3U / 2);
}

TEST(Store, WhatWasPutSurvivesKillNine) {
  const TemporaryFiles files;
  const std::string path = files.path("s");
  for (int round = 0; round < 20; ++round) {
    int channel[2];
    ASSERT_EQ(pipe(channel), 0);
    const pid_t child = fork();
    if (child == 0) {
      Store store(path, Store::Open::create);
      for (int i = 0;; ++i) {
        store.put(row(1000 * round + i));
        if (write(channel[1], &i, sizeof i) != sizeof i) _exit(1);
      }
    }
    close(channel[1]);
    int acknowledged = -1;
    const int wanted = 3 + round;  // another moment each time
    while (acknowledged < wanted && read(channel[0], &acknowledged, sizeof acknowledged) > 0) {
    }
    kill(child, SIGKILL);
    while (read(channel[0], &acknowledged, sizeof acknowledged) > 0) {
    }
    close(channel[0]);
    waitpid(child, nullptr, 0);
    const Store store(path, Store::Open::existing);
    for (int i = 0; i <= acknowledged; ++i) {
      const int point = 1000 * round + i;
      EXPECT_EQ(store.find("key" + std::to_string(point)), row(point)) << "round " << round;
    }
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  std::string verdict;
  sqlite3_exec(
      db, "PRAGMA integrity_check",
      [](void* text, int, char** values, char**) {
        *static_cast<std::string*>(text) += values[0];
        return 0;
      },
      &verdict, nullptr);
  sqlite3_close(db);
  EXPECT_EQ(verdict, "ok");
}

TEST(StoreErrors, AMissingStore) {
  const TemporaryFiles files;
  EXPECT_EQ(error_of([&] { Store(files.path("gone"), Store::Open::existing); }),
            files.path("gone") + ": does not exist, allowed: a store that stepcast sweep wrote");
  EXPECT_EQ(error_of([&] { Store(files.path("no/folder"), Store::Open::create); }),
            files.path("no/folder") +
                ": cannot be opened, allowed: a file in a folder that exists and is writable");
  EXPECT_FALSE(std::filesystem::exists(files.path("gone")));
}

TEST(StoreErrors, AFileThatIsNoStore) {
  const TemporaryFiles files;
  const std::string text = files.write("t", std::string(5000, 'x'));
  const std::string other = files.path("other");
  sql(other, "CREATE TABLE t (x)");
  for (const std::string& path : {text, other}) {
    for (const auto how : {Store::Open::create, Store::Open::existing})
      EXPECT_EQ(error_of([&] { Store(path, how); }),
                path + ": is no store, allowed: a file that stepcast sweep wrote");
  }
  std::ifstream file{text};
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>{file}, {}), std::string(5000, 'x'));
}

TEST(StoreErrors, AStoreOfAnotherVersion) {
  const TemporaryFiles files;
  for (const char* change :
       {"PRAGMA user_version = 99", "ALTER TABLE points ADD COLUMN more REAL"}) {
    const std::string path = files.path(change);
    Store(path, Store::Open::create).put(row(1));
    sql(path, change);
    const std::string error = error_of([&] { Store(path, Store::Open::create); });
    EXPECT_NE(error.find("is a store of another version"), std::string::npos) << error;
  }
}

TEST(StoreErrors, ADamagedStoreIsLeftAsItIs) {
  const TemporaryFiles files;
  const std::string path = files.path("s");
  {
    Store store(path, Store::Open::create);
    for (int i = 0; i < 500; ++i) store.put(row(i));
  }
  const auto size = std::filesystem::file_size(path);
  {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(8192);
    const std::string noise(static_cast<std::size_t>(size) - 8192, '\x7f');
    file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
  }
  const std::string error = error_of([&] { Store(path, Store::Open::existing).rows(""); });
  EXPECT_EQ(error, path +
                       ": is damaged and left as it is, allowed: another file, or a copy of this "
                       "one");
  EXPECT_EQ(std::filesystem::file_size(path), size);
}

TEST(StoreErrors, AReadOnlyStore) {
  const TemporaryFiles files;
  const std::string path = files.path("s");
  Store(path, Store::Open::create).put(row(1));
  chmod(path.c_str(), 0444);
  chmod(files.path("").c_str(), 0555);
  const int code = in_process([&] {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(3);  // root may write everything
    const std::string error = error_of([&] { Store(path, Store::Open::create).put(row(2)); });
    std::cerr << error << "\n";
    _exit(error.find("is read-only") != std::string::npos ||
                  error.find("cannot be opened") != std::string::npos
              ? 0
              : 1);
  });
  chmod(files.path("").c_str(), 0755);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(Store(path, Store::Open::existing).rows("").size(), 1U);
}

TEST(Store, InAFolderThatTakesNoFilesIsRead) {
  const TemporaryFiles files;
  const std::string path = files.path("s?100%#");
  Store(path, Store::Open::create).put(row(1));
  chmod(path.c_str(), 0444);
  chmod(files.path("").c_str(), 0555);
  const int code = in_process([&] {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(3);
    _exit(Store(path, Store::Open::existing).rows("") == std::vector{row(1)} ? 0 : 1);
  });
  chmod(files.path("").c_str(), 0755);
  EXPECT_EQ(code, 0);
}

TEST(StoreErrors, RowsThatWereChangedOrLostAreNamed) {
  const TemporaryFiles files;
  const auto error_after = [&](const std::string& change) {
    const std::string path = files.path("s");
    std::filesystem::remove(path);
    {
      Store store(path, Store::Open::create);
      for (const std::int64_t point : {1, 2, 3, 4}) store.put(row(point));
    }
    sql(path, change);
    const std::string error = error_of([&] { Store(path, Store::Open::existing); });
    EXPECT_EQ(error_of([&] { Store(path, Store::Open::create); }), error);
    const std::string begin = path + ": is damaged and left as it is: ";
    const std::string end = "; allowed: another file, or a copy of this one";
    EXPECT_EQ(error.substr(0, begin.size()), begin) << change;
    if (!error.ends_with(end) || !error.starts_with(begin)) return error;
    return error.substr(begin.size(), error.size() - begin.size() - end.size());
  };
  EXPECT_EQ(error_after("UPDATE points SET status = 'invalid' WHERE point = 1"),
            "the row of point 1 of s (a=1) was changed");
  EXPECT_EQ(error_after("UPDATE points SET step_time_s = 2.5, mfu = 0 WHERE point IN (2, 3)"),
            "the row of point 2 of s (a=1) was changed, the row of point 3 of s (a=1) was "
            "changed");
  EXPECT_EQ(error_after("UPDATE points SET schedule = CAST(schedule AS BLOB) WHERE point = 4"),
            "the row of point 4 of s (a=1) was changed");
  EXPECT_EQ(error_after("UPDATE whole SET points = 5"), "it holds 4 rows of 5");
  EXPECT_EQ(error_after("UPDATE whole SET total = total + 1"),
            "its rows are not those that were written");
}

// What other programs take out by SQL is counted as well.
TEST(Store, WhatIsTakenOutLeavesAWholeStore) {
  const TemporaryFiles files;
  const std::string path = files.path("s");
  {
    Store store(path, Store::Open::create);
    for (const std::int64_t point : {1, 2, 3}) store.put(row(point));
  }
  sql(path, "DELETE FROM points WHERE point = 2");
  EXPECT_EQ(Store(path, Store::Open::existing).rows(""), (std::vector{row(1), row(3)}));
}

TEST(Store, NumbersThatSqliteKeepsOtherwiseAreWhole) {
  const TemporaryFiles files;
  PointResult odd = row(1);
  for (std::size_t i = 0; i < 5; ++i)
    odd.numbers[i] = std::array{-0.0, 3.0, 1e300, -7.0, 5e-324}[i];
  {
    Store store(files.path("s"), Store::Open::create);
    store.put(odd);
    store.put(odd);
  }
  EXPECT_EQ(Store(files.path("s"), Store::Open::existing).rows(""), std::vector{odd});
}

TEST(StoreErrors, OneChangedByteIsSeenOrChangesNothing) {
  const TemporaryFiles files;
  const std::string path = files.path("s"), copy = files.path("copy");
  std::vector<PointResult> rows;
  {
    Store store(path, Store::Open::create);
    for (std::int64_t point = 0; point < 12; ++point) rows.push_back(row(point));
    store.put(rows);
  }
  std::ifstream file{path, std::ios::binary};
  const std::string whole{std::istreambuf_iterator<char>{file}, {}};
  std::mt19937 random(46);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string changed = whole;
    const std::size_t at = random() % changed.size();
    changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1 + random() % 255));
    std::ofstream(copy, std::ios::binary) << changed;
    try {
      EXPECT_EQ(Store(copy, Store::Open::existing).rows(""), rows) << "byte " << at;
    } catch (const InputError& error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).find(copy), 0U) << error.what();
    }
    for (const char* beside : {"-wal", "-shm", "-journal"}) std::filesystem::remove(copy + beside);
  }
  EXPECT_GT(refused, 100);
}

TEST(StoreErrors, ADiskThatFillsUpKeepsWhatIsThere) {
  const TemporaryFiles files;
  const std::string path = files.path("s");
  Store(path, Store::Open::create).put(row(0));
  const int code = in_process([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2'000'000,
                       2'000'000};  // a file that cannot grow stands for a disk that is full
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(3);
    const std::string error = error_of([&] {
      Store store(path, Store::Open::create);
      for (int i = 1; i < 100'000; ++i) store.put(row(i));
    });
    std::cerr << error << "\n";
    _exit(error.find("what was stored before is kept") != std::string::npos ? 0 : 1);
  });
  EXPECT_EQ(code, 0);
  const auto rows = Store(path, Store::Open::existing).rows("");
  ASSERT_GT(rows.size(), 50U);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(rows[i], row(static_cast<std::int64_t>(i)));
}

}  // namespace
}  // namespace stepcast
