// Linked into every program of the sanitized build.
//
// AddressSanitizer guesses where glibc keeps the thread-local variables of a module that is loaded
// at run time (sanitizer_tls_get_addr.cpp): a block 16 bytes, or a redzone, behind the start of a
// page is taken for one with a header, and its own header is read as an address. Whether a block
// lies there hangs on every earlier allocation; where it does, the search for leaks ends with
// "Tracer caught signal 11" after a test that passed. glibc allocates these blocks by malloc, so
// the search finds what they hold without that guess.
extern "C" const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier): the name
                                                  // that the run time asks for

// NOLINTNEXTLINE(readability-identifier-naming, bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {
  return "intercept_tls_get_addr=0";
}  // NOLINT(bugprone-reserved-identifier)
