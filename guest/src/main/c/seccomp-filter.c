/*
 * Writes the seccomp filter of a sandbox to standard output: an array of struct sock_filter for the
 * machine it runs on. Run at build time; crun loads the result as it is, which saves it 20 ms a
 * start against compiling a profile.
 *
 * The rules: what is listed as allowed is allowed, some of it only with harmless arguments; what is
 * listed as refused gives EPERM, as for a user without the right; everything else, also what
 * kernels of the future add, gives ENOSYS, so that libraries fall back to something older.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum {
    MAX_CALLS = 1024,
    MAX_INSTRUCTIONS = 4096, /* BPF_MAXINSNS */
    MAX_SHORT_JUMP = 255
};

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000u
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "The seccomp filter knows x86_64 and aarch64 only"
#endif

#define ALLOW SECCOMP_RET_ALLOW
#define REFUSE(error) (SECCOMP_RET_ERRNO | ((error) & SECCOMP_RET_DATA))
#define UNKNOWN REFUSE(ENOSYS)

/* Values that are part of the kernel's interface; their headers are not everywhere, or clash. */
enum {
    NAMESPACE_FLAGS = 0x7E020000, /* every CLONE_NEW… that clone takes */
    TERMINAL_STUFF_INPUT = 0x5412,    /* TIOCSTI: types into the terminal of another program */
    TERMINAL_LINUX_CONSOLE = 0x541C,  /* TIOCLINUX: the same by selection and paste */
    TERMINAL_LINE_DISCIPLINE = 0x5423, /* TIOCSETD: a door to rarely reviewed drivers */
    FAMILY_UNIX = 1,
    FAMILY_INTERNET = 2,
    FAMILY_INTERNET_6 = 10,
    FAMILY_NETLINK = 16,
    FAMILY_PACKET = 17,
    NETLINK_OF_ROUTES = 0,
    NETLINK_OF_SOCKETS = 4,
    NETLINK_OF_AUDIT = 9,
    NETLINK_OF_DEVICES = 15
};

/*
 * A call that this libc's headers do not know turns into a word that is no number, and is skipped;
 * numbers from 424 on are the same on all machines and can be given.
 */
#define TEXT(x) #x
#define NUMBER_OF(x) TEXT(x)
#define CALL(name) {#name, NUMBER_OF(SYS_##name), -1}
#define NEWER(name, number) {#name, NUMBER_OF(SYS_##name), number}

struct call {
    const char *name;
    const char *number;
    int otherwise;
};

static const struct call allowed[] = {
    CALL(accept), CALL(accept4), CALL(access), CALL(adjtimex), CALL(alarm), CALL(arch_prctl),
    CALL(bind), CALL(brk), CALL(capget), CALL(capset), CALL(chdir), CALL(chmod), CALL(chown),
    CALL(chroot), CALL(clock_adjtime), CALL(clock_getres), CALL(clock_gettime),
    CALL(clock_nanosleep), CALL(close), NEWER(close_range, 436), CALL(connect),
    CALL(copy_file_range), CALL(creat), CALL(dup), CALL(dup2), CALL(dup3), CALL(epoll_create),
    CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_pwait), NEWER(epoll_pwait2, 441),
    CALL(epoll_wait), CALL(eventfd), CALL(eventfd2), CALL(execve), CALL(execveat), CALL(exit),
    CALL(exit_group), CALL(faccessat), NEWER(faccessat2, 439), CALL(fadvise64), CALL(fallocate),
    CALL(fanotify_mark), CALL(fchdir), CALL(fchmod), CALL(fchmodat), NEWER(fchmodat2, 452),
    CALL(fchown), CALL(fchownat), CALL(fcntl), CALL(fdatasync), CALL(fgetxattr), CALL(flistxattr),
    CALL(flock), CALL(fork), CALL(fremovexattr), CALL(fsetxattr), CALL(fstat), CALL(fstatfs),
    CALL(fsync), CALL(ftruncate), CALL(futex), NEWER(futex_requeue, 456), NEWER(futex_wait, 455),
    NEWER(futex_waitv, 449), NEWER(futex_wake, 454), CALL(futimesat), CALL(get_mempolicy),
    CALL(get_robust_list), CALL(get_thread_area), CALL(getcpu), CALL(getcwd), CALL(getdents),
    CALL(getdents64), CALL(getegid), CALL(geteuid), CALL(getgid), CALL(getgroups),
    CALL(getitimer), CALL(getpeername), CALL(getpgid), CALL(getpgrp), CALL(getpid), CALL(getppid),
    CALL(getpriority), CALL(getrandom), CALL(getresgid), CALL(getresuid), CALL(getrlimit),
    CALL(getrusage), CALL(getsid), CALL(getsockname), CALL(getsockopt), CALL(gettid),
    CALL(gettimeofday), CALL(getuid), CALL(getxattr), NEWER(getxattrat, 464),
    CALL(inotify_add_watch), CALL(inotify_init), CALL(inotify_init1), CALL(inotify_rm_watch),
    CALL(io_cancel), CALL(io_destroy), CALL(io_getevents), CALL(io_pgetevents), CALL(io_setup),
    CALL(io_submit), CALL(ioprio_get), CALL(ioprio_set), CALL(kill),
    NEWER(landlock_add_rule, 445), NEWER(landlock_create_ruleset, 444),
    NEWER(landlock_restrict_self, 446), CALL(lchown), CALL(lgetxattr), CALL(link), CALL(linkat),
    CALL(listen), CALL(listxattr), NEWER(listxattrat, 465), CALL(llistxattr), CALL(lremovexattr),
    CALL(lseek), CALL(lsetxattr), CALL(lstat), CALL(madvise), NEWER(map_shadow_stack, 453),
    CALL(mbind), CALL(membarrier), CALL(memfd_create), NEWER(memfd_secret, 447), CALL(mincore),
    CALL(mkdir), CALL(mkdirat), CALL(mknod), CALL(mknodat), CALL(mlock), CALL(mlock2),
    CALL(mlockall), CALL(mmap), CALL(modify_ldt), CALL(mprotect), CALL(mq_getsetattr),
    CALL(mq_notify), CALL(mq_open), CALL(mq_timedreceive), CALL(mq_timedsend), CALL(mq_unlink),
    CALL(mremap), NEWER(mseal, 462), CALL(msgctl), CALL(msgget), CALL(msgrcv), CALL(msgsnd),
    CALL(msync), CALL(munlock), CALL(munlockall), CALL(munmap), CALL(name_to_handle_at),
    CALL(nanosleep), CALL(newfstatat), CALL(open), CALL(openat),
    NEWER(openat2, 437), CALL(pause), NEWER(pidfd_getfd, 438), NEWER(pidfd_open, 434),
    NEWER(pidfd_send_signal, 424), CALL(pipe), CALL(pipe2), CALL(pkey_alloc), CALL(pkey_free),
    CALL(pkey_mprotect), CALL(poll), CALL(ppoll), CALL(prctl), CALL(pread64), CALL(preadv),
    CALL(preadv2), NEWER(process_mrelease, 448), CALL(process_vm_readv),
    CALL(process_vm_writev), CALL(pselect6), CALL(ptrace), CALL(pwrite64), CALL(pwritev),
    CALL(pwritev2), CALL(read), CALL(readahead), CALL(readlink), CALL(readlinkat), CALL(readv),
    CALL(recvfrom), CALL(recvmmsg), CALL(recvmsg), CALL(remap_file_pages), CALL(removexattr),
    NEWER(removexattrat, 466), CALL(rename), CALL(renameat), CALL(renameat2),
    CALL(restart_syscall), CALL(rmdir), CALL(rseq), CALL(rt_sigaction), CALL(rt_sigpending),
    CALL(rt_sigprocmask), CALL(rt_sigqueueinfo), CALL(rt_sigreturn), CALL(rt_sigsuspend),
    CALL(rt_sigtimedwait), CALL(rt_tgsigqueueinfo), CALL(sched_get_priority_max),
    CALL(sched_get_priority_min), CALL(sched_getaffinity), CALL(sched_getattr),
    CALL(sched_getparam), CALL(sched_getscheduler), CALL(sched_rr_get_interval),
    CALL(sched_setaffinity), CALL(sched_setattr), CALL(sched_setparam), CALL(sched_setscheduler),
    CALL(sched_yield), CALL(seccomp), CALL(select), CALL(semctl), CALL(semget), CALL(semop),
    CALL(semtimedop), CALL(sendfile), CALL(sendmmsg), CALL(sendmsg), CALL(sendto),
    CALL(set_mempolicy), NEWER(set_mempolicy_home_node, 450), CALL(set_robust_list),
    CALL(set_thread_area), CALL(set_tid_address), CALL(setfsgid), CALL(setfsuid), CALL(setgid),
    CALL(setgroups), CALL(setitimer), CALL(setpgid), CALL(setpriority), CALL(setregid),
    CALL(setresgid), CALL(setresuid), CALL(setreuid), CALL(setrlimit), CALL(setsid),
    CALL(setsockopt), CALL(setuid), CALL(setxattr), NEWER(setxattrat, 463), CALL(shmat),
    CALL(shmctl), CALL(shmdt), CALL(shmget), CALL(shutdown), CALL(sigaltstack), CALL(signalfd),
    CALL(signalfd4), CALL(splice), CALL(stat), CALL(statfs), CALL(statx), CALL(symlink),
    CALL(symlinkat), CALL(sync), CALL(sync_file_range), CALL(syncfs), CALL(sysinfo), CALL(tee),
    CALL(tgkill), CALL(time), CALL(timer_create), CALL(timer_delete), CALL(timer_getoverrun),
    CALL(timer_gettime), CALL(timer_settime), CALL(timerfd_create), CALL(timerfd_gettime),
    CALL(timerfd_settime), CALL(times), CALL(tkill), CALL(truncate), CALL(umask), CALL(uname),
    CALL(unlink), CALL(unlinkat), CALL(utime), CALL(utimensat), CALL(utimes), CALL(vfork),
    CALL(wait4), CALL(waitid), CALL(write), CALL(writev), NEWER(cachestat, 451),
};

/* EPERM: new namespaces and mounts, the kernel itself, its keys, clocks, and well-known traps. */
static const struct call refused[] = {
    CALL(acct), CALL(add_key), CALL(bpf), CALL(clock_settime), CALL(delete_module),
    CALL(fanotify_init), CALL(finit_module), NEWER(fsconfig, 431), NEWER(fsmount, 432),
    NEWER(fsopen, 430), NEWER(fspick, 433), CALL(init_module), NEWER(io_uring_enter, 426),
    NEWER(io_uring_register, 427), NEWER(io_uring_setup, 425), CALL(ioperm), CALL(iopl),
    CALL(kcmp), CALL(kexec_file_load), CALL(kexec_load), CALL(keyctl), CALL(lookup_dcookie),
    CALL(migrate_pages), CALL(mount), NEWER(mount_setattr, 442), NEWER(move_mount, 429),
    CALL(move_pages), CALL(nfsservctl), CALL(open_by_handle_at), NEWER(open_tree, 428),
    NEWER(open_tree_attr, 467), CALL(perf_event_open), CALL(pivot_root),
    NEWER(process_madvise, 440), CALL(query_module), CALL(quotactl), NEWER(quotactl_fd, 443),
    CALL(reboot), CALL(request_key), CALL(setdomainname), CALL(sethostname), CALL(setns),
    CALL(settimeofday), CALL(swapoff), CALL(swapon), CALL(sysfs), CALL(syslog), CALL(umount2),
    CALL(unshare), CALL(uselib), CALL(userfaultfd), CALL(ustat), CALL(vhangup), CALL(vmsplice),
};

/* What a leaf of the search tree does: return this value, or go to a block that looks on. */
enum { BLOCKS = 6 };
enum block { CLONE, PERSONALITY, SOCKET, SOCKET_PAIR, IOCTL, LIMITS };
#define GO_TO(block) (0xFFFF0000u | (block)) /* no value that a filter can return */

static const struct {
    struct call call;
    enum block block;
} judged[BLOCKS] = {
    {CALL(clone), CLONE},           {CALL(personality), PERSONALITY}, {CALL(socket), SOCKET},
    {CALL(socketpair), SOCKET_PAIR}, {CALL(ioctl), IOCTL},        {CALL(prlimit64), LIMITS},
};

static uint32_t action_of[MAX_CALLS]; /* by number */

static struct sock_filter program[MAX_INSTRUCTIONS];
static size_t length;

static size_t emit(uint16_t code, size_t if_true, size_t if_false, uint32_t value) {
    if (length == MAX_INSTRUCTIONS || if_true > MAX_SHORT_JUMP || if_false > MAX_SHORT_JUMP) {
        fprintf(stderr, "seccomp-filter: the filter has grown beyond what BPF can hold\n");
        exit(1);
    }
    program[length] = (struct sock_filter){code, (uint8_t)if_true, (uint8_t)if_false, value};
    return length++;
}

static void load(size_t offset) {
    emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* The low half: all that the kernel looks at for the arguments judged here. */
static void load_argument(int index) {
    size_t offset = offsetof(struct seccomp_data, args) + (size_t)index * sizeof(uint64_t);
    load(offset + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(uint32_t) : 0));
}

static void answer(uint32_t value) {
    emit(BPF_RET | BPF_K, 0, 0, value);
}

/* Answers VALUE when the loaded word equals WORD, else goes on. */
static void answer_if(uint32_t word, uint32_t value) {
    emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, word);
    answer(value);
}

static int number_of(const struct call *call) {
    char *end;
    long number = strtol(call->number, &end, 10);
    if (end == call->number || *end != 0) {
        number = call->otherwise;
    }
    if (number >= MAX_CALLS) {
        fprintf(stderr, "seccomp-filter: %s has a number beyond the table\n", call->name);
        exit(1);
    }
    return (int)number;
}

static void set(const struct call *call, uint32_t action) {
    int number = number_of(call);
    if (number < 0) {
        return;
    }
    if (action_of[number] != UNKNOWN) {
        fprintf(stderr, "seccomp-filter: %s is listed twice\n", call->name);
        exit(1);
    }
    action_of[number] = action;
}

struct range {
    uint32_t first; /* reaches to the next one's first */
    uint32_t action;
};

static struct range ranges[MAX_CALLS];
static size_t leaves[BLOCKS][MAX_CALLS]; /* jumps to a block, whose place is not known yet */
static size_t leaf_count[BLOCKS];

static void emit_leaf(uint32_t action) {
    if (action < GO_TO(0)) {
        answer(action);
        return;
    }
    size_t block = action - GO_TO(0);
    leaves[block][leaf_count[block]++] = emit(BPF_JMP | BPF_JA, 0, 0, 0);
}

/* A balanced tree over ranges[FROM, TO): about eight comparisons for any call. */
static void emit_tree(size_t from, size_t to) {
    if (to - from == 1) {
        emit_leaf(ranges[from].action);
        return;
    }
    size_t middle = from + (to - from) / 2;
    /* Over the left half by a long jump: conditional ones reach 255 instructions only. */
    emit(BPF_JMP | BPF_JGE | BPF_K, 0, 1, ranges[middle].first);
    size_t jump = emit(BPF_JMP | BPF_JA, 0, 0, 0);
    emit_tree(from, middle);
    program[jump].k = (uint32_t)(length - jump - 1);
    emit_tree(middle, to);
}

static void begin_block(enum block block) {
    for (size_t i = 0; i < leaf_count[block]; i++) {
        size_t leaf = leaves[block][i];
        program[leaf].k = (uint32_t)(length - leaf - 1);
    }
}

static void emit_blocks(void) {
    begin_block(CLONE);
    load_argument(0);
    emit(BPF_JMP | BPF_JSET | BPF_K, 0, 1, NAMESPACE_FLAGS);
    answer(REFUSE(EPERM));
    answer(ALLOW);

    /* Linux, Linux of 32 bits, each as of the 2.6 days or not, and the question for it. */
    begin_block(PERSONALITY);
    load_argument(0);
    static const uint32_t harmless[] = {0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        answer_if(harmless[i], ALLOW);
    }
    answer(REFUSE(EPERM));

    /* Families that are not allowed look as if the kernel had been built without them. */
    begin_block(SOCKET);
    load_argument(0);
    answer_if(FAMILY_UNIX, ALLOW);
    answer_if(FAMILY_INTERNET, ALLOW);
    answer_if(FAMILY_INTERNET_6, ALLOW);
    answer_if(FAMILY_PACKET, REFUSE(EPERM));
    emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, FAMILY_NETLINK);
    answer(REFUSE(EAFNOSUPPORT));
    load_argument(2);
    answer_if(NETLINK_OF_ROUTES, ALLOW);
    answer_if(NETLINK_OF_SOCKETS, ALLOW);
    answer_if(NETLINK_OF_DEVICES, ALLOW);
    answer_if(NETLINK_OF_AUDIT, REFUSE(EINVAL));
    answer(REFUSE(EPROTONOSUPPORT));

    begin_block(SOCKET_PAIR);
    load_argument(0);
    answer_if(FAMILY_UNIX, ALLOW);
    answer(REFUSE(EOPNOTSUPP));

    begin_block(IOCTL);
    load_argument(1);
    answer_if(TERMINAL_STUFF_INPUT, REFUSE(EPERM));
    answer_if(TERMINAL_LINUX_CONSOLE, REFUSE(EPERM));
    answer_if(TERMINAL_LINE_DISCIPLINE, REFUSE(EPERM));
    answer(ALLOW);

    /* Root inside has the identity of process 1 and could take its descriptors or its time away. */
    begin_block(LIMITS);
    load_argument(0);
    answer_if(1, REFUSE(EPERM));
    answer(ALLOW);
}

int main(void) {
    for (size_t i = 0; i < MAX_CALLS; i++) {
        action_of[i] = UNKNOWN;
    }
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        set(&allowed[i], ALLOW);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        set(&refused[i], REFUSE(EPERM));
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (number_of(&judged[i].call) < 0) {
            fprintf(stderr, "seccomp-filter: no number for %s\n", judged[i].call.name);
            return 1;
        }
        set(&judged[i].call, GO_TO(judged[i].block));
    }
    size_t count = 0;
    for (uint32_t number = 0; number < MAX_CALLS; number++) {
        if (count == 0 || ranges[count - 1].action != action_of[number]) {
            ranges[count++] = (struct range){number, action_of[number]};
        }
    }

    load(offsetof(struct seccomp_data, arch));
    emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, NATIVE);
    answer(UNKNOWN);
    load(offsetof(struct seccomp_data, nr));
#ifdef X32_BIT
    emit(BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
    answer(UNKNOWN);
#endif
    emit_tree(0, count);
    emit_blocks();

    if (fwrite(program, sizeof *program, length, stdout) != length || fflush(stdout) != 0) {
        perror("seccomp-filter");
        return 1;
    }
    return 0;
}
