#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "profile_rows.hpp"
#include "stepcast/base/confined_files.hpp"

namespace stepcast {
namespace {

constexpr std::size_t largest_profile = std::size_t{1} << 30U;

struct Close {
  void operator()(gzFile file) const { gzclose(file); }
};

}  // namespace

std::string read_profile_text(const std::string& path) {
  if (!is_file(path)) refuse_input({path}, {}, "is no file that can be read, allowed: a profile");
  errno = 0;
  // gzread passes on what is not packed.
  const std::unique_ptr<gzFile_s, Close> file{gzopen(path.c_str(), "rb")};
  if (!file)
    refuse_input({path}, {}, std::string("cannot be opened for reading: ") + std::strerror(errno));
  std::string text;
  std::string block(1U << 20U, '\0');
  int got = 0;
  while ((got = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()))) > 0) {
    text.append(block, 0, static_cast<std::size_t>(got));
    if (text.size() > largest_profile)
      refuse_input({path}, {}, "is larger than 1 GiB, allowed: a profile of fewer steps");
  }
  int code = Z_OK;
  // gzread() may end at a cut stream as at the end of a file.
  const char* message = gzerror(file.get(), &code);
  if (got < 0 || code != Z_OK)
    refuse_input({path}, {}, std::string("is truncated or damaged: ") + message);
  return text;
}

}  // namespace stepcast
