// A test asserts on the thread that runs it: Catch2 up to 3.8 has no lock there, so that two assertions at a time abort
// the program now and then. An assertion of Catch2 on another thread ends it at once here.
#include <catch2/catch_assertion_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

class one_thread_asserts : public Catch::EventListenerBase {
  public:
    using Catch::EventListenerBase::EventListenerBase;
    void testCaseStarting(const Catch::TestCaseInfo&) override { runs_ = std::this_thread::get_id(); }
    void assertionStarting(const Catch::AssertionInfo& asserted) override {
        if (std::this_thread::get_id() == runs_) return;
        std::fprintf(stderr,
                     "%s:%zu: an assertion of Catch2 on a thread that does not run the test: write CHECK_ON_THREAD\n",
                     asserted.lineInfo.file, asserted.lineInfo.line);
        std::_Exit(1);
    }

  private:
    std::thread::id runs_;
};

} // namespace

CATCH_REGISTER_LISTENER(one_thread_asserts)
