#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast::cli {
namespace {

namespace fs = std::filesystem;

/// With what the system says, since a full disk is no missing folder.
[[noreturn]] void refuse(const std::string& path, int error) {
  // These can be mended by another path, others cannot.
  const bool place = error == ENOENT || error == EACCES || error == ENOTDIR;
  refuse_input({path}, {},
               place ? "cannot be written, give a file in a folder that exists and is writable"
                     : std::string("cannot be written: ") + std::strerror(error));
}

/// Whole texts into an open file, which it does not own. The first error stays in `error`.
class Sink {
 public:
  explicit Sink(int file) : file_{file} {}
  virtual ~Sink() = default;
  virtual void write(std::string_view text) {
    while (!text.empty() && error_ == 0) {
      const ssize_t n = ::write(file_, text.data(), text.size());
      // A signal, as of a resized terminal, interrupts a write without harm.
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail(errno);
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  virtual void close() {}
  int error() const { return error_; }

 protected:
  void fail(int error) {
    if (error_ == 0) error_ = error == 0 ? EIO : error;
  }
  int file() const { return file_; }

 private:
  int file_;
  int error_ = 0;
};

class GzipSink : public Sink {
 public:
  /// Level 5: a third of the time of the best one for a tenth more bytes.
  explicit GzipSink(int file) : Sink{file}, gzip_{gzdopen(dup(file), "wb5")} {
    if (!gzip_) fail(errno);
  }
  ~GzipSink() override {
    if (gzip_) gzclose(gzip_);
  }
  void write(std::string_view text) override {
    if (error() != 0 || text.empty()) return;
    errno = 0;
    // zlib sets errno only where the system failed: 0 becomes EIO.
    if (gzwrite(gzip_, text.data(), static_cast<unsigned>(text.size())) <= 0) fail(errno);
  }
  void close() override {
    if (!gzip_) return;
    errno = 0;
    if (gzclose(gzip_) != Z_OK) fail(errno);
    gzip_ = nullptr;
  }

 private:
  gzFile gzip_;
};

/// The name of a file that is not whole; empty: none. One is written at a time.
std::array<char, PATH_MAX> unfinished{};

/// The text on its way to its place. It has no name until it is whole, where the file system can do
/// that: nothing is left of it when the process dies.
class Draft {
 public:
  explicit Draft(const fs::path& target)
      : target_{target}, beside_{target.string() + ".part" + std::to_string(getpid())} {
    constexpr mode_t mode = 0666;
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    file_ = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (file_ < 0) {
      named();
      file_ = open(beside_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, mode);
    }
    if (file_ >= 0) take_over_rights();
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (file_ >= 0) ::close(file_);
    if (named_) unlink(beside_.c_str());
    unfinished[0] = 0;
  }
  int file() const { return file_; }
  /// Whether it took the place of what was there; errno says why not.
  bool publish() {
    // The file has no name yet. A link cannot replace a file, a rename can: hence both.
    if (!named_) {
      const std::string self = "/proc/self/fd/" + std::to_string(file_);
      unlink(beside_.c_str());  // of a process of the same number that died between link and rename
      if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, beside_.c_str(), AT_SYMLINK_FOLLOW) != 0)
        return false;
      named();
    }
    // Readers see the old file or the new one, never a part.
    if (rename(beside_.c_str(), target_.c_str()) != 0) return false;
    named_ = false;
    return true;
  }

 private:
  void named() {
    named_ = true;
    const std::string& name = beside_.native();
    if (name.size() < unfinished.size()) unfinished[name.copy(unfinished.data(), name.size())] = 0;
  }
  /// Who could read or run what was there still can; owner and group as far as this user may give
  /// them.
  void take_over_rights() const {
    struct stat before {};
    if (stat(target_.c_str(), &before) != 0 || !S_ISREG(before.st_mode)) return;
    // Group before owner: who gives a file away may no longer change it.
    const bool group = fchown(file_, static_cast<uid_t>(-1), before.st_gid) == 0;
    const bool owner = fchown(file_, before.st_uid, static_cast<gid_t>(-1)) == 0;
    constexpr mode_t all = 07777, plain = 0777, of_group = 070, of_others = 07;
    // A set-user-id bit would give the rights of another user.
    mode_t mode = before.st_mode & (group && owner ? all : plain);
    // Another group may do what everybody may.
    if (!group) mode = (mode & ~of_group) | ((mode & of_others) << 3);
    static_cast<void>(!fchmod(file_, mode));
  }

  fs::path target_, beside_;
  int file_ = -1;
  bool named_ = false;
};

/// 0, or the error of the first text that could not be written.
int fill(int file, bool gzip, const PieceWriter& body) {
  const std::unique_ptr<Sink> sink =
      gzip ? std::make_unique<GzipSink>(file) : std::make_unique<Sink>(file);
  body([&](std::string_view text) { sink->write(text); });
  sink->close();
  return sink->error();
}

/// A rename would replace a device or a pipe.
void write_in_place(const std::string& path, bool gzip, const PieceWriter& body) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) refuse(path, errno);
  const int error = fill(file, gzip, body);
  close(file);
  if (error != 0) refuse(path, error);
}

}  // namespace

void remove_unfinished_file() {
  if (unfinished[0] != 0) unlink(unfinished.data());
}

void write_pieces(const std::string& path, Form form, const PieceWriter& body) {
  if (is_confined()) refuse_input({path}, {}, "is a file, and none is written here");
  std::error_code failure;
  const bool gzip = form == Form::by_name && path.ends_with(".gz");
  const fs::file_status status = fs::status(path, failure);
  if (fs::exists(status) && fs::is_other(status)) return write_in_place(path, gzip, body);
  // A link stays a link: what it leads to is replaced.
  Draft draft(fs::is_regular_file(status) ? fs::canonical(path, failure) : fs::path(path));
  if (draft.file() < 0) refuse(path, errno);
  if (const int error = fill(draft.file(), gzip, body); error != 0) refuse(path, error);
  if (!draft.publish()) refuse(path, errno);
}

void write_file(const std::string& path, const std::string& text) {
  write_pieces(path, Form::plain, [&](const auto& out) { out(text); });
}

}  // namespace stepcast::cli
