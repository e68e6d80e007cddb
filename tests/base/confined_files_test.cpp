#include "stepcast/base/confined_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "stepcast/base/document.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

std::string refusal(const std::string& path, const SearchPath& search) {
  try {
    load_document(path, search);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// A process is confined once: everything about it in one child.
TEST(ConfinedFiles, OnlyFilesBelowTheFoldersAreRead) {
  const test::TemporaryFiles files;
  files.write("in/deep/base.yaml", "a: 1\n");
  files.write("in-not/other.yaml", "a: 2\n");
  const std::string outside = files.write("outside.yaml", "a: 3\n");
  fs::create_symlink(outside, files.path("in/link.yaml"));
  const std::string fine = files.write("in/fine.yaml", "extends: deep/base.yaml\nb: 1\n");
  const std::string dots = files.write("in/dots.yaml", "extends: ../outside.yaml\nb: 1\n");
  const std::string linked = files.write("in/linked.yaml", "extends: link.yaml\nb: 1\n");
  const std::string direct = files.write("in/direct.yaml", "extends: " + outside + "\nb: 1\n");
  const SearchPath search{{files.path("in")}};
  for (const std::string& path : {fine, dots, linked, direct, outside})
    EXPECT_EQ(refusal(path, search), "") << path;

  const auto confined = [&] {
    read_files_only_from({files.path("in"), files.path("no-such-folder")});
    EXPECT_EQ(refusal(fine, search), "");
    EXPECT_EQ(refusal("fine.yaml", search), "");
    for (const std::string& path : {dots, linked, direct, outside, files.path("in/link.yaml")})
      EXPECT_NE(refusal(path, search), "") << path;
    EXPECT_NE(refusal(files.path("in-not/other.yaml"), search), "") << "a name that begins alike";
    EXPECT_NE(refusal("/etc/passwd", search).find("does not exist"), std::string::npos);
    EXPECT_NE(refusal("/dev/zero", search), "");
    EXPECT_FALSE(find_file("../outside.yaml", files.path("in"), search));
    _exit(HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(confined(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace stepcast
