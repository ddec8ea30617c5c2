#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "worker.h"

#define COPY_SIZE 65536
#define WRITE_PARENTS 1
#define WRITE_EXCLUSIVE 2
#define KEEP_MODE 0xFFFFFFFFu
#define DEFAULT_FILE_MODE 0644
#define PARENT_MODE 0755
#define RENAME_WITHOUT_REPLACING 1u  // RENAME_NOREPLACE

// Static: a worker has one or two targets and one buffer, and a small stack.
static struct target target, second;
static uint8_t buffer[COPY_SIZE];

static void resolve_or_finish(const struct task_request *request, bool follow,
                              enum purpose purpose) {
  uint32_t code = resolve(request, request->path, follow, purpose, &target);
  if (code != 0) finish(code, &target, false);
}

static _Noreturn void finish_errno(bool failed) {
  uint32_t code = failed ? (uint32_t)errno : 0;
  finish(code, &target, !failed);
}

_Noreturn void run_stat(const struct task_request *request) {
  resolve_or_finish(request, request->flags != 0, EXISTING);
  finish(0, &target, true);
}

// ---- list

static void flush_entries(const uint8_t *end) {
  if (!write_all(1, buffer, (size_t)(end - buffer))) _exit(errno);
}

_Noreturn void run_list(const struct task_request *request) {
  resolve_or_finish(request, true, EXISTING);
  int fd = openat(target.directory, target.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *entries = fd < 0 ? NULL : fdopendir(fd);
  if (entries == NULL) finish_errno(true);
  answer(0, &target, true);
  uint8_t *at = buffer;
  for (;;) {
    errno = 0;
    const struct dirent *entry = readdir(entries);
    if (entry == NULL) break;
    const char *name = entry->d_name;
    struct stat status;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0) continue;  // gone since
    if ((size_t)(buffer + sizeof buffer - at) < 4 + NAME_MAX + STAT_SIZE) {
      flush_entries(at);
      at = buffer;
    }
    at = write_bytes(write_u32(at, (uint32_t)strlen(name)), name, strlen(name));
    at = write_stat(at, &status, fd, name);
  }
  int error = errno;
  flush_entries(at);
  _exit(error);
}

// ---- read

// Opens what was resolved if it is a regular file. The kind is looked at before, because opening a
// device can do something, and after, because a name can change hands.
static int open_regular(int flags) {
  int fd = -1;
  if (S_ISDIR(target.status.st_mode)) finish(EISDIR, &target, false);
  if (!S_ISREG(target.status.st_mode)) finish(CODE_NOT_REGULAR, &target, false);
  fd = openat(target.directory, target.name,
              flags | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &target.status) < 0) finish_errno(true);
  if (!S_ISREG(target.status.st_mode)) finish(CODE_NOT_REGULAR, &target, false);
  return fd;
}

_Noreturn void run_read(const struct task_request *request) {
  resolve_or_finish(request, true, EXISTING);
  int fd = open_regular(O_RDONLY);
  if (request->offset > INT64_MAX || lseek(fd, (off_t)request->offset, SEEK_SET) < 0) {
    finish(EINVAL, &target, false);
  }
  answer(0, &target, true);
  for (uint64_t left = request->length; left > 0;) {
    ssize_t length = read(fd, buffer, left < sizeof buffer ? (size_t)left : sizeof buffer);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 || !write_all(1, buffer, (size_t)length)) _exit(errno);
    if (length == 0) break;
    left -= (uint64_t)length;
  }
  _exit(0);
}

// ---- write

static volatile sig_atomic_t aborted;

static void note_abort(int number) {
  (void)number;
  aborted = 1;
}

static char temporary[sizeof TEMPORARY_NEW + TEMPORARY_DIGITS];

static _Noreturn void give_up_write(uint32_t code) {
  (void)unlinkat(target.directory, temporary, 0);
  finish(code, &target, false);
}

static int open_temporary(void) {
  uint64_t number;
  if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) return -1;
  (void)snprintf(temporary, sizeof temporary, "%s%016llx",
                 target.exists ? TEMPORARY_REPLACING : TEMPORARY_NEW, (unsigned long long)number);
  return openat(target.directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
}

static void copy_content(int fd) {
  for (;;) {
    ssize_t length = aborted ? 0 : read(0, buffer, sizeof buffer);
    // Asked after the read: process 1 signals before it closes the pipe of what it gave up.
    if (aborted) {
      (void)unlinkat(target.directory, temporary, 0);
      _exit(0);
    }
    if (length < 0 && errno == EINTR) continue;
    if (length == 0) return;
    if (length < 0 || !write_all(fd, buffer, (size_t)length)) give_up_write((uint32_t)errno);
  }
}

// Renames without replacing; gives 0 or -1 with errno.
static int rename_new(int from_directory, const char *from, int to_directory, const char *to) {
  if (syscall(SYS_renameat2, from_directory, from, to_directory, to, RENAME_WITHOUT_REPLACING) == 0) {
    return 0;
  }
  if (errno != EINVAL && errno != ENOSYS) return -1;
  // A file system without that flag: a hard link does not replace either, but knows files only.
  if (linkat(from_directory, from, to_directory, to, 0) == 0) {
    return unlinkat(from_directory, from, 0);
  }
  if (errno == EEXIST) return -1;
  struct stat status;
  if (fstatat(to_directory, to, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return -1;
  }
  return renameat(from_directory, from, to_directory, to);
}

static void check_writable(const struct task_request *request) {
  if (S_ISDIR(target.status.st_mode)) finish(EISDIR, &target, false);
  if (!S_ISREG(target.status.st_mode)) finish(CODE_NOT_REGULAR, &target, false);
  if (request->flags & WRITE_EXCLUSIVE) finish(EEXIST, &target, false);
  // A rename asks for the directory's rights only; a read-only file stays one.
  if (faccessat(target.directory, target.name, W_OK, 0) < 0) finish_errno(true);
}

_Noreturn void run_write(const struct task_request *request) {
  struct sigaction action = {.sa_handler = note_abort};
  (void)sigaction(SIGTERM, &action, NULL);  // without SA_RESTART: a waiting read ends
  resolve_or_finish(request, true, CREATING);
  if (target.exists) {
    check_writable(request);
  } else if (target.missing[0] != 0) {
    if (!(request->flags & WRITE_PARENTS)) finish(ENOENT, &target, false);
    uint32_t code = make_parents(&target, PARENT_MODE);
    if (code != 0) finish(code, &target, false);
  }
  int fd = open_temporary();
  if (fd < 0) finish_errno(true);
  copy_content(fd);
  mode_t mode = request->mode & 07777;
  if (request->mode == KEEP_MODE) {
    mode = target.exists ? target.status.st_mode & 07777 : DEFAULT_FILE_MODE;
  }
  if (fchmod(fd, mode) < 0) give_up_write((uint32_t)errno);
  if (close(fd) < 0) give_up_write((uint32_t)errno);
  int renamed = (request->flags & WRITE_EXCLUSIVE)
                    ? rename_new(target.directory, temporary, target.directory, target.name)
                    : renameat(target.directory, temporary, target.directory, target.name);
  if (renamed < 0) give_up_write((uint32_t)errno);
  finish(0, &target, true);
}

// ---- the rest

// Through an open file: fchmodat knows no "do not follow" on older kernels, and the name may have
// become a link since it was looked at. Gives 0 or -1 with errno.
static int change_mode(mode_t mode) {
  int fd = openat(target.directory, target.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  char path[32];
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return chmod(path, mode);
}

_Noreturn void run_make_directory(const struct task_request *request) {
  bool parents = request->flags != 0;
  resolve_or_finish(request, true, CREATING);
  if (target.exists) {
    bool enough = parents && S_ISDIR(target.status.st_mode);
    finish(enough ? 0 : EEXIST, &target, enough);
  }
  if (target.missing[0] != 0) {
    if (!parents) finish(ENOENT, &target, false);
    uint32_t code = make_parents(&target, PARENT_MODE);
    if (code != 0) finish(code, &target, false);
  }
  mode_t mode = request->mode & 07777;
  bool made = mkdirat(target.directory, target.name, mode) == 0;
  // mkdir itself leaves the set-id bits out.
  if (made && (mode & 06000)) made = change_mode(mode) == 0;
  finish_errno(!made && !(parents && errno == EEXIST));
}

_Noreturn void run_remove(const struct task_request *request) {
  resolve_or_finish(request, false, EXISTING);
  if (is_root(request, &target)) finish(CODE_OUTSIDE, &target, false);
  if (strcmp(target.name, ".") == 0) finish(EBUSY, &target, false);
  if (S_ISDIR(target.status.st_mode) && request->flags != 0) {
    finish(remove_tree(target.directory, target.name), &target, false);
  }
  int flags = S_ISDIR(target.status.st_mode) ? AT_REMOVEDIR : 0;
  bool failed = unlinkat(target.directory, target.name, flags) < 0;
  finish(failed ? (uint32_t)errno : 0, &target, false);
}

_Noreturn void run_rename(const struct task_request *request) {
  resolve_or_finish(request, false, EXISTING);
  uint32_t code = resolve(request, request->second_path, false, CREATING, &second);
  if (code == 0 && !second.exists && second.missing[0] != 0) code = ENOENT;
  if (code == 0 && (is_root(request, &target) || is_root(request, &second))) code = CODE_OUTSIDE;
  if (code == 0 && (strcmp(target.name, ".") == 0 || strcmp(second.name, ".") == 0)) code = EBUSY;
  if (code != 0) finish(code, &second, false);
  int renamed = request->flags != 0
                    ? renameat(target.directory, target.name, second.directory, second.name)
                    : rename_new(target.directory, target.name, second.directory, second.name);
  uint32_t result = renamed < 0 ? (uint32_t)errno : 0;
  finish(result, &second, renamed == 0);
}

_Noreturn void run_change_mode(const struct task_request *request) {
  resolve_or_finish(request, true, EXISTING);
  finish_errno(change_mode(request->mode & 07777) < 0);
}
