# The Python interpreter of a sandbox: one process, one namespace, one run after the other.
#
# Requests come as lines of JSON on what was stdin, answers go as lines of JSON to a pipe of their
# own. Descriptors 1 and 2 belong to the user's code, so that output of children and of C libraries
# needs no help and nothing that is printed can be taken for an answer; the end of a run's output is
# a mark that the host has chosen for this run. With IPython
# its magics, "!commands" and displays work; without it code runs all the same. Python 3.8 and later.
import ast
import base64
import builtins
import fcntl
import importlib
import importlib.abc
import inspect
import json
import linecache
import os
import signal
import site
import subprocess
import sys
import time
import traceback
import types

# The file name this text is compiled under: frames with it never show.
KERNEL = "<hopx>"
MAX_VALUE = 10 << 20
MAX_TOTAL = 32 << 20
MAX_ITEMS = 100
# What the host takes as one answer.
MAX_ANSWER = 32 << 20
MAX_RESULT = 1 << 20
MAX_TABLE_ROWS = 1000
MAX_TABLE_COLUMNS = 100
MAX_SERIES_POINTS = 1000
MAX_REMEMBERED_SOURCES = 500
# Descriptors of the kernel stand above those that programs expect to be given.
FIRST_DESCRIPTOR = 700
# Best first: what an item with several forms is called after.
PREFERRED = (
    "image/png",
    "image/jpeg",
    "image/svg+xml",
    "text/html",
    "text/markdown",
    "text/latex",
    "application/json",
)
SHELL_WORDS = frozenset(
    "apt apt-get awk bash cat cd chmod chown cp curl docker echo export find git go grep head kill"
    " ls make mkdir mv node npm npx pip pip3 ps pwd python python3 rm rmdir sed sh sudo tail tar"
    " touch unzip wget yarn".split()
)


class Channel:
    """Requests in, answers out."""

    def __init__(self, answers):
        self.pid = os.getpid()
        self.requests = open(above(0), "rb")
        self.descriptor = above(answers)
        os.close(answers)
        self.run = 0

    def next(self):
        line = self.requests.readline()
        return json.loads(line) if line else None

    def send(self, kind, **fields):
        # A fork of the user's that has come back here is not the interpreter.
        if os.getpid() != self.pid:
            return
        fields["kind"] = kind
        fields["id"] = self.run
        text = json.dumps(fields, allow_nan=False, ensure_ascii=False) + "\n"
        data = memoryview(text.encode("utf-8", "replace"))
        if len(data) > MAX_ANSWER:
            sys.stderr.write("[%s of %d bytes left out: too much to show]\n" % (kind, len(data)))
            return
        while data:
            data = data[os.write(self.descriptor, data) :]


def above(descriptor):
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR)


class Streams:
    """The user's descriptors and Python's streams on them, put right before each run."""

    def __init__(self):
        self.saved = [os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), above(1), above(2)]
        self.saved[0] = above(self.saved[0])
        os.dup2(self.saved[0], 0)
        self.objects = (None, sys.stdout, sys.stderr)
        self.flush_c = lambda: None

    def prepare(self):
        for number, descriptor in enumerate(self.saved):
            os.dup2(descriptor, number)
        # A child that shares the pipe may have changed it.
        os.set_blocking(1, True)
        os.set_blocking(2, True)
        if sys.stdin is None or sys.stdin.closed:
            sys.stdin = open(0, "r", closefd=False)
        sys.stdout, sys.stderr = self.stream(1), self.stream(2)

    def stream(self, number):
        found = self.objects[number]
        if found.closed:
            found = open(number, "w", encoding="utf-8", errors="replace", closefd=False, buffering=1)
            found.reconfigure(write_through=True)
            self.objects = tuple(found if n == number else o for n, o in enumerate(self.objects))
        return found

    def finish(self, mark):
        """Ends what the run has written: behind the mark nothing belongs to it any more."""
        self.flush()
        for descriptor in self.saved[1:]:
            os.write(descriptor, mark)

    def flush(self):
        for stream in (sys.stdout, sys.stderr) + self.objects[1:]:
            try:
                stream.flush()
            except Exception:
                pass
        self.flush_c()


class Rich:
    """What a run has to show beside its text."""

    def __init__(self, channel):
        self.channel = channel
        self.reset()

    def reset(self):
        self.items = 0
        self.total = 0

    def emit(self, data, metadata=None, **extra):
        values = {}
        for mime, value in data.items():
            if isinstance(value, (bytes, bytearray)):
                value = base64.b64encode(value).decode("ascii")
            if value is None or not isinstance(mime, str):
                continue
            try:
                size = len(value) if isinstance(value, str) else len(json.dumps(value, allow_nan=False))
            except (TypeError, ValueError, RecursionError):
                continue
            if size > MAX_VALUE or self.total + size > MAX_TOTAL or self.items >= MAX_ITEMS:
                note = "[%s of %d bytes left out: too much to show]\n" % (mime, size)
                sys.stderr.write(note)
                continue
            self.total += size
            values[mime] = value.strip() if mime.startswith("image/") and isinstance(value, str) else value
        known = [mime for mime in PREFERRED if mime in values]
        others = [mime for mime in values if mime != "text/plain"]
        if not known and not others:
            return
        self.items += 1
        kind = (known or others)[0]
        try:
            json.dumps(metadata, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            metadata = None
        self.channel.send("rich", type=kind, data=values, metadata=metadata or {}, **extra)


class AfterImport(importlib.abc.MetaPathFinder):
    """Completes modules when they are imported; what is never imported costs nothing."""

    def __init__(self, actions):
        self.actions = actions
        for name in list(actions):
            if name in sys.modules:
                actions.pop(name)(sys.modules[name])

    def find_spec(self, name, path=None, target=None):
        if name not in self.actions:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if finder is not self and find else None
            if spec is not None:
                break
        else:
            return None
        if spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            action = self.actions.pop(name, None)
            if action is not None:
                try:
                    action(module)
                except Exception as failure:
                    print("[no rich output of %s: %r]" % (name, failure), file=sys.stderr)

        try:
            spec.loader.exec_module = exec_module
        except AttributeError:
            pass
        return spec


class Figures:
    """matplotlib without a display: shown, saved and open figures become images."""

    def __init__(self, rich, formatters):
        self.rich = rich
        self.formatters = formatters

    def backend(self, matplotlib):
        if "MPLBACKEND" not in os.environ:
            matplotlib.rcParams["backend"] = "agg"

    def figure(self, module):
        self.original = module.Figure.savefig
        figures = self

        def savefig(self, fname, *args, **kwargs):
            result = figures.original(self, fname, *args, **kwargs)
            figures.saved(self, fname, kwargs)
            return result

        module.Figure.savefig = like(savefig, self.original)
        if self.formatters is not None:
            self.formatters["image/png"].for_type(module.Figure, self.formatted)
        else:
            module.Figure._repr_png_ = self.formatted

    def pyplot(self, module):
        def show(*args, **kwargs):
            self.show_open()

        module.show = like(show, module.show)

    def formatted(self, figure):
        return self.png(figure)

    def png(self, figure):
        import io

        buffer = io.BytesIO()
        self.original(figure, buffer, format="png", bbox_inches="tight")
        figure.stale = False
        figure._hopx_shown = self.rich.channel.run
        return buffer.getvalue()

    def saved(self, figure, name, kwargs):
        try:
            path = os.fspath(name)
        except TypeError:
            return
        kind = str(kwargs.get("format") or os.path.splitext(os.fsdecode(path))[1][1:]).lower()
        mime = {"": "image/png", "png": "image/png", "svg": "image/svg+xml"}.get(kind)
        mime = mime or {"jpg": "image/jpeg", "jpeg": "image/jpeg"}.get(kind)
        try:
            with open(path if kind else os.fsdecode(path) + ".png", "rb") as file:
                data = file.read(MAX_VALUE + 1) if mime else None
        except OSError:
            data = None
        if data is None:
            mime, data = "image/png", self.png(figure)
        if mime == "image/svg+xml":
            data = data.decode("utf-8", "replace")
        self.rich.emit({mime: data}, {"path": os.fsdecode(path)}, **chart(figure))
        figure.stale = False
        figure._hopx_shown = self.rich.channel.run

    def show_open(self):
        """Shows and closes all figures; one that was saved and not changed since is not repeated."""
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if helpers is None:
            return
        for manager in helpers.Gcf.get_all_fig_managers():
            figure = manager.canvas.figure
            seen = getattr(figure, "_hopx_shown", None) == self.rich.channel.run
            if not (seen and not figure.stale):
                self.rich.emit({"image/png": self.png(figure)}, **chart(figure))
        sys.modules["matplotlib.pyplot"].close("all")


def chart(figure):
    """The figure as data: titles, axes, series."""
    try:
        axes = []
        for ax in figure.axes:
            series = []
            for line in ax.get_lines():
                series.append({"type": "line", **points(line, line.get_xdata(), line.get_ydata())})
            for container in ax.containers:
                bars = [patch for patch in container if hasattr(patch, "get_height")]
                if bars:
                    x = [bar.get_x() + bar.get_width() / 2 for bar in bars]
                    series.append({"type": "bar", **points(container, x, [b.get_height() for b in bars])})
            for collection in ax.collections:
                offsets = collection.get_offsets()
                if len(offsets):
                    series.append({"type": "scatter", **points(collection, offsets[:, 0], offsets[:, 1])})
            axes.append(
                {
                    "title": ax.get_title(),
                    "x_label": ax.get_xlabel(),
                    "y_label": ax.get_ylabel(),
                    "series": series,
                }
            )
        title = figure._suptitle.get_text() if figure._suptitle is not None else ""
        described = {"title": title or (axes[0]["title"] if axes else ""), "axes": axes}
        json.dumps(described, allow_nan=False)
        return {"chart": described}
    except Exception:
        return {}


def points(artist, x, y):
    return {"label": str(artist.get_label()), "x": plain(x), "y": plain(y)}


def plain(values):
    out = []
    for value in list(values)[:MAX_SERIES_POINTS]:
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, float) and value != value or value in (float("inf"), float("-inf")):
            value = None
        out.append(value if isinstance(value, (int, float, str, type(None))) else str(value))
    return out


def like(function, original):
    function.__name__ = original.__name__
    function.__qualname__ = getattr(original, "__qualname__", original.__name__)
    function.__doc__ = original.__doc__
    function.__module__ = original.__module__
    function.__wrapped__ = original
    return function


def table(frame):
    """A DataFrame as data, or nothing."""
    try:
        part = frame.iloc[:MAX_TABLE_ROWS, :MAX_TABLE_COLUMNS]
        split = json.loads(part.to_json(orient="split", date_format="iso", default_handler=str))
        split["shape"] = list(frame.shape)
        split["dtypes"] = [str(kind) for kind in part.dtypes]
        split["truncated"] = part.shape != frame.shape
        return {"dataframe": split} if len(json.dumps(split)) <= MAX_VALUE else {}
    except Exception:
        return {}


class Pandas:
    def __init__(self, rich):
        self.rich = rich
        self.type = None

    def imported(self, module):
        frame = self.type = module.DataFrame
        rich = self.rich
        original = builtins.print

        def print(*args, **kwargs):
            original(*args, **kwargs)
            if kwargs.get("file") in (None, sys.stdout):
                for value in args:
                    if isinstance(value, frame):
                        rich.emit({"text/html": value._repr_html_(), "text/plain": str(value)}, **table(value))

        builtins.print = like(print, original)


def complete_plotly(rich):
    def page(figure):
        import plotly.io

        return plotly.io.to_html(figure, include_plotlyjs="cdn", full_html=True)

    def imported(module):
        base = module.BaseFigure
        write = base.write_html

        def show(self, *args, **kwargs):
            rich.emit({"text/html": page(self)})

        def write_html(self, file, *args, **kwargs):
            write(self, file, *args, **kwargs)
            path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else None
            rich.emit({"text/html": page(self)}, {"path": os.fsdecode(path)} if path else {})

        def display(self):
            show(self)

        base.show = like(show, base.show)
        base.write_html = like(write_html, write)
        base._ipython_display_ = display

    def renderers(module):
        def show(fig, *args, **kwargs):
            rich.emit({"text/html": page(fig)})

        module.show = show

    return {"plotly.basedatatypes": imported, "plotly.io._renderers": renderers}


def complete_pillow(rich):
    def imported(module):
        def show(self, *args, **kwargs):
            import io

            buffer = io.BytesIO()
            image = self if self.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I") else self.convert("RGB")
            image.save(buffer, "PNG")
            rich.emit({"image/png": buffer.getvalue()})

        module.Image.show = like(show, module.Image.show)

    return {"PIL.Image": imported}


class Modules:
    """The user's own modules: found in the working directory, read again when they were edited."""

    def __init__(self):
        self.known = set(sys.modules)
        self.tracked = {}
        self.directory = None
        self.python_path = []
        self.missing = [d for d in site_directories() if not os.path.isdir(d)]
        self.installed = tuple(
            os.path.realpath(p) + os.sep
            for p in {sys.prefix, sys.base_prefix, sys.exec_prefix, "/usr/lib", "/usr/local/lib"}
            if p != "/"
        )

    def prepare(self, directory):
        sys.path[:] = [p for p in sys.path if p not in self.python_path and p != ""]
        self.python_path = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
        sys.path[:0] = [""] + self.python_path
        for directory in [d for d in self.missing if os.path.isdir(d)]:
            # Made by the first installation of a package.
            self.missing.remove(directory)
            site.addsitedir(directory)
        moved = self.directory is not None and self.directory != directory
        changed = [n for n, (file, before) in self.tracked.items() if stamp(file) != before]
        if changed or moved:
            for name in changed:
                try:
                    # Seconds and size are all it knows of its source.
                    os.unlink(importlib.util.cache_from_source(self.tracked[name][0]))
                except (OSError, NotImplementedError):
                    pass
            for name in self.tracked:
                sys.modules.pop(name, None)
            self.known.difference_update(self.tracked)
            self.tracked.clear()
        self.directory = directory
        importlib.invalidate_caches()

    def note(self):
        for name in sys.modules.keys() - self.known:
            self.known.add(name)
            file = getattr(sys.modules.get(name), "__file__", None)
            if isinstance(file, str) and file.endswith(".py"):
                file = os.path.abspath(file)
                real = os.path.realpath(file)
                if not real.startswith(self.installed) and "-packages" + os.sep not in real:
                    self.tracked[name] = (file, stamp(file))


def site_directories():
    try:
        return site.getsitepackages() + [site.getusersitepackages()]
    except Exception:
        return []


def stamp(file):
    try:
        found = os.stat(file)
        return (found.st_mtime_ns, found.st_size)
    except OSError:
        return None


def set_environment(wanted):
    zone = os.environ.get("TZ")
    for name in [name for name in os.environ if name not in wanted]:
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
    if zone != wanted.get("TZ"):
        time.tzset()


def children():
    """Direct children, as far as the kernel lists them."""
    try:
        with open("/proc/self/task/%d/children" % os.getpid()) as file:
            return {int(pid) for pid in file.read().split()}
    except OSError:
        return set()


def ticks_now():
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")) - 1


def kill_children_since(ticks, earlier):
    """Ends what a run that was cut off has started, and not what earlier runs have left."""
    parents, started = {}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            parents[int(name)] = int(fields[1])
            started[int(name)] = int(fields[19])
    ours = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in ours}
        more -= ours | earlier
        if not more:
            break
        ours |= more
    for pid in ours - {os.getpid()}:
        if started[pid] >= ticks:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass


class Plain:
    """Without IPython."""

    formatters = None

    def transform(self, code):
        return code

    def format(self, value):
        bundle, metadata = {}, {}
        method = getattr(value, "_repr_mimebundle_", None)
        if method is not None and not isinstance(value, type):
            found = method()
            bundle = dict(found[0] if isinstance(found, tuple) else found or {})
        for mime, name in (
            ("text/html", "_repr_html_"),
            ("image/png", "_repr_png_"),
            ("image/svg+xml", "_repr_svg_"),
            ("text/markdown", "_repr_markdown_"),
            ("text/latex", "_repr_latex_"),
        ):
            method = getattr(value, name, None)
            if method is not None and not isinstance(value, type):
                found = method()
                if found is not None:
                    bundle.setdefault(mime, found[0] if isinstance(found, tuple) else found)
        bundle.setdefault("text/plain", repr(value))
        return bundle, metadata


def with_ipython(module, rich, show):
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.text import LSString, SList
    from traitlets.config import Config

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **other):
            show(data, metadata)

        def clear_output(self, wait=False):
            pass

    class Shell(InteractiveShell):
        def init_display_pub(self):
            self.display_pub = Publisher(parent=self)

        def init_sys_modules(self):
            pass

        def init_virtualenv(self):
            pass

        def system(self, cmd):
            self.user_ns["_exit_code"] = run_shell(self.var_expand(cmd, depth=1)).returncode

        system_raw = system_piped = system

        def enable_gui(self, gui=None):
            pass

        def enable_matplotlib(self, gui=None):
            # Figures are shown whatever "%matplotlib" asks for.
            return gui, "agg"

        def getoutput(self, cmd, split=True, depth=0):
            found = run_shell(self.var_expand(cmd, depth=depth + 1), stdout=subprocess.PIPE)
            text = found.stdout.decode("utf-8", "replace")
            return SList(text.splitlines()) if split else LSString(text)

        def showtraceback(self, *args, **kwargs):
            # A cell magic has caught what its body raised.
            kind, value, trace = sys.exc_info()
            if value is not None:
                raise value

    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryAccessor.enabled = False
    config.InteractiveShell.history_load_length = 0
    config.InteractiveShell.colors = "NoColor"
    shell = Shell.instance(config=config, user_module=module, user_ns=module.__dict__)
    for name in ("exit", "quit", "open"):
        shell.user_ns.pop(name, None)
        shell.user_ns_hidden.pop(name, None)
    builtins.get_ipython = shell.get_ipython

    class Engine:
        formatters = shell.display_formatter.formatters

        @staticmethod
        def transform(code):
            # Of several lines only what is no Python can be IPython's.
            if "\n" in code.strip():
                try:
                    ast.parse(code)
                    return code
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    pass
            lead = len(code) - len(code.lstrip("\n"))
            return "\n" * lead + shell.transform_cell(code[lead:])

        @staticmethod
        def format(value):
            return shell.display_formatter.format(value)

    return Engine()


def run_shell(command, **options):
    program = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    return subprocess.run([program, "-c", command], **options)


class Interpreter:
    def __init__(self, channel):
        self.channel = channel
        self.streams = Streams()
        self.rich = Rich(channel)
        self.armed = False
        self.cut_off = False
        self.number = 0
        self.loop = None
        self.last = None
        self.sources = []
        signal.signal(signal.SIGINT, self.interrupted)
        sys.argv[:] = [""]
        module = types.ModuleType("__main__")
        module.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = module
        self.variables = module.__dict__
        try:
            self.engine = with_ipython(module, self.rich, self.show)
        except ImportError:
            self.engine = Plain()
            builtins.display = self.display
        self.pandas = Pandas(self.rich)
        self.figures = Figures(self.rich, self.engine.formatters)
        actions = {
            "pandas": self.pandas.imported,
            "matplotlib": self.figures.backend,
            "matplotlib.figure": self.figures.figure,
            "matplotlib.pyplot": self.figures.pyplot,
            "ctypes": self.flush_c_library,
        }
        actions.update(complete_plotly(self.rich))
        actions.update(complete_pillow(self.rich))
        sys.meta_path.insert(0, AfterImport(actions))
        self.modules = Modules()

    def flush_c_library(self, ctypes):
        """Only who uses a C library through it can have text in C's own buffers."""
        flush = ctypes.CDLL(None).fflush
        self.streams.flush_c = lambda: flush(None)

    def interrupted(self, number, frame):
        if self.armed:
            self.cut_off = True
            raise KeyboardInterrupt

    def display(self, *values, **options):
        for value in values:
            self.show(*self.engine.format(value), value=value)

    def show(self, data, metadata=None, value=None):
        if set(data) <= {"text/plain"}:
            sys.stdout.write(str(data.get("text/plain", "")) + "\n")
            return
        extra = table(value) if self.pandas.type and isinstance(value, self.pandas.type) else {}
        self.rich.emit(data, metadata, **extra)

    def serve(self):
        self.channel.send("ready")
        while True:
            request = self.channel.next()
            if request is None:
                return
            self.channel.run = request["id"]
            self.rich.reset()
            self.answer(request)

    def answer(self, request):
        self.cut_off = False
        started, earlier = ticks_now(), children()
        self.streams.prepare()
        set_environment(request["environment"])
        try:
            os.chdir(request["directory"])
        except OSError:
            self.channel.send("directory")
            return
        self.modules.prepare(request["directory"])
        sys.argv[:] = [""]
        signal.signal(signal.SIGINT, self.interrupted)
        code, result = 130, None
        try:
            try:
                self.armed = True
                code, result = self.run(request["code"])
            finally:
                self.armed = False
        except KeyboardInterrupt:
            self.armed = False
        if os.getpid() != self.channel.pid:
            self.streams.flush()
            os._exit(code)
        self.modules.note()
        if self.cut_off:
            kill_children_since(started, earlier)
        self.streams.finish(request["mark"].encode())
        self.channel.send("done", code=code, result=result, interrupted=self.cut_off)

    def run(self, code):
        """The exit code and the text of the last expression."""
        self.number += 1
        name = "<code %d>" % self.number
        result = None
        try:
            value = self.evaluate(code, name)
            if value is not None:
                result = self.shown_last(value)
            status = 0
        except SystemExit as ending:
            status = self.exit_status(ending)
        except KeyboardInterrupt:
            if not self.cut_off:
                self.print_failure(name, code)
            status = 130
        except BaseException:
            self.print_failure(name, code)
            status = 1
        try:
            self.figures.show_open()
        except Exception:
            self.print_failure(name, code)
            status = status or 1
        return status, result

    @staticmethod
    def exit_status(ending):
        code = ending.code
        if code is None:
            return 0
        if isinstance(code, int):
            return code & 0xFF
        print(code, file=sys.stderr)
        return 1

    def evaluate(self, code, name):
        source = self.engine.transform(code)
        # Without a time the entry is never compared with a file.
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        self.sources.append(name)
        if len(self.sources) > MAX_REMEMBERED_SOURCES:
            linecache.cache.pop(self.sources.pop(0), None)
        flags = getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)
        tree = compile(source, name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        value = None
        if tree.body:
            self.execute(compile(tree, name, "exec", flags, dont_inherit=True))
        if last is not None:
            value = self.execute(compile(last, name, "eval", flags, dont_inherit=True))
            if source.rstrip().endswith(";"):
                value = None
        return value

    def execute(self, compiled):
        value = eval(compiled, self.variables)
        if compiled.co_flags & inspect.CO_COROUTINE:
            import asyncio

            if self.loop is None or self.loop.is_closed():
                self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
            value = self.loop.run_until_complete(value)
        return value

    def shown_last(self, value):
        if self.variables.get("_", self.last) is self.last:
            self.variables["_"] = self.last = value
        data, metadata = self.engine.format(value)
        text = data.get("text/plain") if data else None
        rich = {mime: found for mime, found in data.items() if mime != "text/plain"}
        if not rich and is_json(value):
            rich = {"application/json": value}
        if rich:
            self.show({**rich, "text/plain": text}, metadata, value)
        if text is None:
            text = repr(value) if not hasattr(value, "_ipython_display_") else None
        if text is not None and len(text) > MAX_RESULT:
            text = text[:MAX_RESULT] + "…"
        return text

    def print_failure(self, name, code):
        kind, value, trace = sys.exc_info()
        while trace is not None and trace.tb_frame.f_code.co_filename == KERNEL:
            trace = trace.tb_next
        if isinstance(value, SyntaxError) and value.filename == name:
            trace = None
        value.__traceback__ = trace
        if kind.__name__ == "UsageError":
            sys.stderr.write("UsageError: %s\n" % value)
            return
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(kind, value, trace)
            return
        told = traceback.TracebackException(kind, value, trace)
        clean(told, name, set())
        text = "".join(told.format())
        if issubclass(kind, (SyntaxError, NameError)):
            words = code.split(None, 1)
            if words and words[0] in SHELL_WORDS:
                text += 'Hint: this looks like a shell command; send it with language:"bash".\n'
        sys.stderr.write(text)


def clean(told, name, seen):
    """Takes out our frames, and the number of the run from the name of its own code."""
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    if told.stack:
        kept = [frame for frame in told.stack if frame.filename != KERNEL]
        for frame in kept:
            if frame.filename == name:
                frame.line  # Looked up under the name it is stored by.
                frame.filename = "<code>"
        told.stack = traceback.StackSummary.from_list(kept)
    if getattr(told, "filename", None) == name:
        told.filename = "<code>"
    clean(told.__cause__, name, seen)
    clean(told.__context__, name, seen)
    for part in getattr(told, "exceptions", None) or ():
        clean(part, name, seen)


def is_json(value):
    if not (isinstance(value, dict) or isinstance(value, list) and value and isinstance(value[0], dict)):
        return False
    try:
        json.dumps(value, allow_nan=False)
        return True
    except (TypeError, ValueError, RecursionError):
        return False


def main():
    # The answers go to the output of a process that was started to lend it.
    Interpreter(Channel(os.open("/proc/%s/fd/1" % sys.argv[1], os.O_WRONLY))).serve()
    os._exit(0)
