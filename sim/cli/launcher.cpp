/// PREFIX/bin/stepcast of the archive (scripts/package): starts the program with the loader and the
/// C library beside it, whichever this machine has, or none. Linked statically.
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

int main(int, char** argv) {
  // The auxiliary vector has numbers. NOLINTNEXTLINE(performance-no-int-to-ptr)
  const char* started_as = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  char* const file = realpath(started_as, nullptr);  // /proc need not be there
  if (file == nullptr) {
    std::fprintf(stderr, "stepcast: %s: %s\n", started_as, std::strerror(errno));
    return 3;
  }
  std::string prefix = file;
  for (int above = 0; above < 2; ++above) prefix.erase(std::min(prefix.rfind('/'), prefix.size()));
  std::string loader = prefix + "/lib/stepcast/libraries/ld.so";
  std::string libraries = prefix + "/lib/stepcast/libraries";
  std::string program = prefix + "/lib/stepcast/stepcast";
  std::string name = argv[0] == nullptr ? "stepcast" : argv[0];
  std::string inhibit = "--inhibit-cache", path = "--library-path", called = "--argv0";
  std::vector<char*> words{loader.data(), inhibit.data(), path.data(),   libraries.data(),
                           called.data(), name.data(),    program.data()};
  for (char** word = argv[0] == nullptr ? argv : argv + 1; *word != nullptr; ++word)
    words.push_back(*word);
  words.push_back(nullptr);
  execv(loader.c_str(), words.data());
  std::fprintf(stderr, "stepcast: %s: %s\n", loader.c_str(), std::strerror(errno));
  return 3;
}
