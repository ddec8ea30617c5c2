# Runs the program that comes over stdin as __main__, with /dev/null as its stdin. Python 3.6 and
# later. Nothing defined here is visible to the program, and no frame of ours in its tracebacks.
def _run():
    import linecache
    import os
    import sys

    with open(0, "rb", closefd=False) as stream:
        source = stream.read()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    if null:
        os.close(null)

    name = "<code>"
    text = source.decode("utf-8", "replace")
    # Without a time the entry is never compared with a file, so tracebacks, warnings and
    # inspect.getsource show the program's lines.
    linecache.cache[name] = (len(source), None, text.splitlines(True), name)

    # Python 3.13 keeps this text as the source of every other "<string>" as well.
    linecache.cache.pop("<string>", None)
    getattr(linecache, "_interactive_cache", {}).clear()

    def show(kind, value, trace):
        import traceback

        traceback.print_exception(kind, value, trace)

    sys.excepthook = show
    variables = sys.modules["__main__"].__dict__
    del variables["_run"]
    try:
        exec(compile(source, name, "exec", dont_inherit=True), variables)
    except SystemExit:
        raise
    except BaseException:
        kind, value, trace = sys.exc_info()
        trace = trace.tb_next
        value.__traceback__ = trace
        try:
            sys.excepthook(kind, value, trace)
        finally:
            del trace
    else:
        return
    sys.exit(130 if issubclass(kind, KeyboardInterrupt) else 1)


_run()
