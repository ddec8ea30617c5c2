/*
 * hopx-host: the host-side helper of a hopx node. It does what the JDK has no call for: pinned
 * namespaces, idmapped and overlay mounts, disks, network links, removal of hostile trees.
 *
 * It is a long-lived child of the server, because starting a tool for each step costs twenty times
 * the step. It reads one request a line from standard input and answers one line each on standard
 * output; it ends at the end of its input, when all requests under way are done.
 *
 *   request:  ID COMMAND ARGUMENT ...
 *   reply:    ID ok
 *             ID failed ERRNO STEP SUBJECT TEXT
 *             ID unsupported ERRNO STEP SUBJECT TEXT
 *
 * Words are separated by one space and percent-encoded: every byte outside [A-Za-z0-9/._:-] is
 * %XX; an empty word is a single '%'. ID is chosen by the caller (decimal). Replies come in the
 * order in which requests end: each one runs in a forked child, so that they overlap, and a
 * crashed one costs nothing but itself.
 *
 * The caller is trusted (it is the server, root like this program). The content of the trees it
 * names is not.
 */
#include "hopx-host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_LINE = 65536,    /* bytes of a request: five paths of 4095 bytes, each byte encoded */
    MAX_ARGUMENTS = 8,   /* words after the command */
    MAX_RUNNING = 256,   /* requests under way; beyond it the input waits */
    MAX_ID = 20,         /* bytes of a request's id */
    MAX_WORD_SHOWN = 800 /* bytes of a word in a reply, before encoding: replies stay below PIPE_BUF */
};

struct running {
    pid_t pid; /* 0 = free */
    char id[MAX_ID + 1];
};

static struct running running[MAX_RUNNING];
static size_t running_count;

static struct {
    const char *status;
    int error;
    char step[64];
    char subject[MAX_WORD_SHOWN + 1];
} failure;

static int record(const char *status, int error, const char *step, const char *subject) {
    failure.status = status;
    failure.error = error;
    snprintf(failure.step, sizeof failure.step, "%s", step);
    snprintf(failure.subject, sizeof failure.subject, "%s", subject);
    return -1;
}

int failed(const char *step, const char *subject) {
    return record("failed", errno, step, subject);
}

int failed_with(int error, const char *step, const char *subject) {
    return record("failed", error, step, subject);
}

int unsupported(const char *step, const char *subject) {
    return record("unsupported", errno, step, subject);
}

static bool is_plain(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c != 0 && strchr("/._:-", c) != NULL);
}

/* Safe: TO has room for three bytes per byte of WORD and the end; callers size it so. */
static char *encode(char *to, const char *word) {
    static const char digits[] = "0123456789ABCDEF";
    if (*word == 0) {
        *to++ = '%';
    }
    for (; *word != 0; word++) {
        if (is_plain(*word)) {
            *to++ = *word;
        } else {
            *to++ = '%';
            *to++ = digits[(unsigned char)*word >> 4];
            *to++ = digits[(unsigned char)*word & 15];
        }
    }
    *to = 0;
    return to;
}

static int digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

/* Decodes in place. Safe: the result is never longer than the word. */
static int decode(char *word) {
    char *to = word;
    if (word[0] == '%' && word[1] == 0) {
        word[0] = 0;
        return 0;
    }
    for (const char *from = word; *from != 0; from++) {
        if (is_plain(*from)) {
            *to++ = *from;
            continue;
        }
        if (*from != '%' || digit(from[1]) < 0 || digit(from[2]) < 0) {
            return failed_with(EINVAL, "decode word", word);
        }
        char byte = (char)(digit(from[1]) << 4 | digit(from[2]));
        if (byte == 0) {
            return failed_with(EINVAL, "decode word", word);
        }
        *to++ = byte;
        from += 2;
    }
    *to = 0;
    return 0;
}

/* One write below PIPE_BUF, so that replies of overlapping requests never mix. */
static void reply(const char *id, int result) {
    char line[MAX_ID + 3 * MAX_WORD_SHOWN + 3 * sizeof failure.step + 3 * 128 + 64];
    _Static_assert(sizeof line <= 4096, "a reply must fit into PIPE_BUF");
    char *end = line;
    if (result == 0) {
        end += sprintf(end, "%s ok\n", id);
    } else {
        char text[128];
        snprintf(text, sizeof text, "%s", strerror(failure.error));
        end += sprintf(end, "%s %s %d ", id, failure.status, failure.error);
        end = encode(end, failure.step);
        *end++ = ' ';
        end = encode(end, failure.subject);
        *end++ = ' ';
        end = encode(end, text);
        *end++ = '\n';
    }
    ssize_t written;
    do {
        written = write(STDOUT_FILENO, line, (size_t)(end - line));
    } while (written < 0 && errno == EINTR);
}

static int number(const char *word, uint64_t *value) {
    char *end;
    errno = 0;
    if (*word < '0' || *word > '9') {
        return failed_with(EINVAL, "read number", word);
    }
    *value = strtoull(word, &end, 10);
    if (errno != 0 || *end != 0) {
        return failed_with(EINVAL, "read number", word);
    }
    return 0;
}

static int run_namespaces(char **a, size_t count) {
    uint64_t base, ids;
    if (number(a[2], &base) < 0 || number(a[3], &ids) < 0) {
        return -1;
    }
    if (count == 4) {
        return make_namespaces(a[0], a[1], base, ids, NULL);
    }
    uint64_t mtu;
    if (number(a[7], &mtu) < 0) {
        return -1;
    }
    if (mtu < 68 || mtu > 65535) {
        return failed_with(EINVAL, "accept mtu", a[7]);
    }
    struct veth veth = {a[4], a[5], a[6], (uint32_t)mtu};
    return make_namespaces(a[0], a[1], base, ids, &veth);
}

static int run_idmap(char **a, size_t count) {
    (void)count;
    return mount_idmapped(a[0], a[1], a[2]);
}

static int run_overlay(char **a, size_t count) {
    (void)count;
    return mount_overlay(a[0], a[1], a[2], a[3], a[4]);
}

static int run_bind(char **a, size_t count) {
    (void)count;
    if (strcmp(a[2], "ro") != 0 && strcmp(a[2], "rw") != 0) {
        return failed_with(EINVAL, "accept bind mode", a[2]);
    }
    return mount_bind(a[0], a[1], strcmp(a[2], "ro") == 0);
}

static int run_copy_image(char **a, size_t count) {
    (void)count;
    return copy_image(a[0], a[1]);
}

static int run_mount_disk(char **a, size_t count) {
    (void)count;
    return mount_disk(a[0], a[1]);
}

static int run_settle_disk(char **a, size_t count) {
    (void)count;
    return settle_disk(a[0]);
}

static int run_trim_disk(char **a, size_t count) {
    (void)count;
    uint64_t at_least;
    return number(a[2], &at_least) < 0 ? -1 : trim_disk(a[0], a[1], at_least);
}

static int run_unmount(char **a, size_t count) {
    (void)count;
    return unmount(a[0]);
}

static int run_unpin(char **a, size_t count) {
    (void)count;
    return unpin(a[0]);
}

static int run_remove_link(char **a, size_t count) {
    (void)count;
    int netlink = open_netlink();
    return netlink < 0 ? -1 : remove_link(netlink, a[0]);
}

static int run_make_directory(char **a, size_t count) {
    (void)count;
    uint64_t mode, uid, gid;
    if (number(a[1], &mode) < 0 || number(a[2], &uid) < 0 || number(a[3], &gid) < 0) {
        return -1;
    }
    return make_directory(a[0], mode, uid, gid);
}

static int run_change_owner(char **a, size_t count) {
    (void)count;
    uint64_t uid, gid;
    if (number(a[1], &uid) < 0 || number(a[2], &gid) < 0) {
        return -1;
    }
    return change_owner(a[0], uid, gid);
}

static int run_remove_tree(char **a, size_t count) {
    (void)count;
    return remove_tree(a[0]);
}

static int run_sysctl(char **a, size_t count) {
    (void)count;
    return set_sysctl(a[0], a[1]);
}

static const struct command {
    const char *name;
    size_t fewest, most;
    int (*run)(char **arguments, size_t count);
} commands[] = {
    {"namespaces", 4, 8, run_namespaces},
    {"idmap", 3, 3, run_idmap},
    {"overlay", 5, 5, run_overlay},
    {"bind", 3, 3, run_bind},
    {"copy-image", 2, 2, run_copy_image},
    {"mount-disk", 2, 2, run_mount_disk},
    {"settle-disk", 1, 1, run_settle_disk},
    {"trim-disk", 3, 3, run_trim_disk},
    {"unmount", 1, 1, run_unmount},
    {"unpin", 1, 1, run_unpin},
    {"remove-link", 1, 1, run_remove_link},
    {"mkdir", 4, 4, run_make_directory},
    {"chown", 3, 3, run_change_owner},
    {"remove-tree", 1, 1, run_remove_tree},
    {"sysctl", 2, 2, run_sysctl},
};

static int run(const char *name, char **arguments, size_t count) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const struct command *command = &commands[i];
        if (strcmp(command->name, name) != 0) {
            continue;
        }
        /* Arguments come in full or in the short form, nothing between. */
        if (count != command->fewest && count != command->most) {
            return failed_with(EINVAL, "take arguments", name);
        }
        for (size_t j = 0; j < count; j++) {
            if (decode(arguments[j]) < 0) {
                return -1;
            }
        }
        return command->run(arguments, count);
    }
    return failed_with(ENOSYS, "find command", name);
}

static void die(const char *message) {
    fprintf(stderr, "hopx-host: %s\n", message);
    _exit(1);
}

/* In the child of one request. */
static void serve(const char *id, const char *name, char **arguments, size_t count, pid_t parent) {
    /*
     * A request never outlives the helper: otherwise it could still make what the server, told
     * that the helper has died, is undoing.
     */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) {
        _exit(1);
    }
    reply(id, run(name, arguments, count));
    _exit(0);
}

static void start(char *line) {
    char *id = strsep(&line, " ");
    char *name = strsep(&line, " ");
    if (*id == 0 || strlen(id) > MAX_ID || strspn(id, "0123456789") != strlen(id) || name == NULL) {
        die("a request without id or command; the caller is not a hopx server");
    }
    char *arguments[MAX_ARGUMENTS];
    size_t count = 0;
    while (line != NULL) {
        if (count == MAX_ARGUMENTS) {
            failed_with(E2BIG, "take arguments", name);
            reply(id, -1);
            return;
        }
        arguments[count++] = strsep(&line, " ");
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        serve(id, name, arguments, count, parent);
    }
    if (pid < 0) {
        failed("fork", name);
        reply(id, -1);
        return;
    }
    for (size_t i = 0; i < MAX_RUNNING; i++) {
        if (running[i].pid == 0) {
            running[i].pid = pid;
            strcpy(running[i].id, id); /* safe: length checked above */
            running_count++;
            return;
        }
    }
    die("lost count of the requests under way");
}

/* Answers for a child that died before it could answer itself. */
static void reap(void) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (size_t i = 0; i < MAX_RUNNING; i++) {
            if (running[i].pid != pid) {
                continue;
            }
            running[i].pid = 0;
            running_count--;
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                char what[64];
                snprintf(what, sizeof what, "status %d", status);
                failed_with(ECHILD, "end a request properly", what);
                reply(running[i].id, -1);
            }
        }
    }
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    umask(0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    int children;
    if (chdir("/") < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
        (children = signalfd(-1, &set, SFD_CLOEXEC)) < 0) {
        die(strerror(errno));
    }
    static char line[MAX_LINE];
    size_t filled = 0;
    bool open = true;
    while (open || running_count > 0) {
        /* Requests that came in one piece with others wait in the buffer while all places are taken. */
        char *end;
        while (running_count < MAX_RUNNING && (end = memchr(line, '\n', filled)) != NULL) {
            *end = 0;
            if (memchr(line, 0, (size_t)(end - line)) != NULL) {
                die("a NUL byte in a request");
            }
            start(line);
            filled -= (size_t)(end + 1 - line);
            memmove(line, end + 1, filled);
        }
        if (filled == sizeof line && memchr(line, '\n', filled) == NULL) {
            die("a request that is too long");
        }
        bool reading = open && running_count < MAX_RUNNING && filled < sizeof line;
        struct pollfd polled[] = {{children, POLLIN, 0}, {reading ? STDIN_FILENO : -1, POLLIN, 0}};
        if (poll(polled, 2, -1) < 0 && errno != EINTR) {
            die(strerror(errno));
        }
        if (polled[0].revents != 0) {
            struct signalfd_siginfo information;
            if (read(children, &information, sizeof information) < 0 && errno != EINTR) {
                die(strerror(errno));
            }
            reap();
        }
        if (polled[1].revents != 0) {
            ssize_t got = read(STDIN_FILENO, line + filled, sizeof line - filled);
            if (got > 0) {
                filled += (size_t)got;
            } else if (got == 0 || errno != EINTR) {
                open = false;
            }
        }
    }
    return 0;
}
