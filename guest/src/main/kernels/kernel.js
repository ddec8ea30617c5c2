// The JavaScript interpreter of a sandbox: one process, one global scope, one run after the other.
//
// Requests come as lines of JSON on what was stdin, answers go as lines of JSON to a pipe of their
// own. Descriptors 1 and 2 belong to the user's code; the end of a run's output is a mark that the
// host has chosen for this run. Code is evaluated as V8 does it for consoles: "await" at the top,
// "const", "let" and "class" again in the next run. Node 18 and later.
(() => {
  'use strict';
  const fs = require('node:fs');
  const vm = require('node:vm');
  const net = require('node:net');
  const path = require('node:path');
  const util = require('node:util');
  const inspector = require('node:inspector');
  const Module = require('node:module');
  const { pathToFileURL } = require('node:url');

  const KERNEL = 'hopx:kernel';
  const NAME = '[code]';
  const MAX_VALUE = 10 << 20;
  const MAX_TOTAL = 32 << 20;
  const MAX_ITEMS = 100;
  // What the host takes as one answer.
  const MAX_ANSWER = 32 << 20;
  const MAX_RESULT = 1 << 20;
  const POLL_MILLIS = 5;
  // A server that was started is there for later runs; it does not keep its own from ending.
  const LASTING = new Set(['TCPServerWrap', 'PipeServerWrap', 'TCPSERVERWRAP', 'PIPESERVERWRAP']);
  const PREFERRED = [
    'image/png',
    'image/jpeg',
    'image/svg+xml',
    'text/html',
    'text/markdown',
    'text/latex',
    'application/json',
  ];

  const emitWarning = process.emitWarning;
  process.emitWarning = (warning, ...more) => {
    // What this file relies on is not the user's concern.
    if (!String(warning).includes('USE_MAIN_CONTEXT_DEFAULT_LOADER')) {
      emitWarning.call(process, warning, ...more);
    }
  };

  // Opened anew they are descriptions of our own, whatever the user does to 0, 1 and 2.
  const answers = fs.openSync(`/proc/${process.argv[1]}/fd/1`, 'w');
  const requests = fs.openSync('/proc/self/fd/0', 'r');
  const outputs = [fs.openSync('/proc/self/fd/1', 'w'), fs.openSync('/proc/self/fd/2', 'w')];
  fs.closeSync(0);
  fs.openSync('/dev/null', 'r');
  process.argv.length = 1;
  process.execArgv.length = 0;

  // Made now they do not count as something that a run has opened.
  void process.stdout;
  void process.stderr;

  const session = new inspector.Session();
  session.connect();
  const realSetTimeout = setTimeout;
  let run = { id: 0 };

  const write = (descriptor, text) => {
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length; ) {
      done += fs.writeSync(descriptor, bytes, done);
    }
  };
  const send = (kind, fields) => {
    const text = `${JSON.stringify({ ...fields, kind, id: run.id })}\n`;
    if (Buffer.byteLength(text) > MAX_ANSWER) {
      process.stderr.write(`[${kind} of ${text.length} characters left out: too much to show]\n`);
    } else {
      write(answers, text);
    }
  };

  // ---------------------------------------------------------------- what is shown beside the text

  const emit = (bundle, metadata) => {
    const data = {};
    for (const [mime, found] of Object.entries(bundle)) {
      const value = found instanceof Uint8Array ? Buffer.from(found).toString('base64') : found;
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      if (text === undefined) continue;
      if (text.length > MAX_VALUE || run.total + text.length > MAX_TOTAL || run.items >= MAX_ITEMS) {
        process.stderr.write(`[${mime} of ${text.length} characters left out: too much to show]\n`);
        continue;
      }
      run.total += text.length;
      data[mime] = value;
    }
    const type =
      PREFERRED.find((mime) => mime in data) ?? Object.keys(data).find((m) => m !== 'text/plain');
    if (type !== undefined) {
      run.items += 1;
      send('rich', { type, data, metadata: metadata ?? {} });
    }
  };

  const starts = (bytes, ...head) => head.every((byte, index) => bytes[index] === byte);

  const display = (value, metadata) => {
    if (value instanceof Uint8Array && starts(value, 0x89, 0x50, 0x4e, 0x47)) {
      emit({ 'image/png': value }, metadata);
    } else if (value instanceof Uint8Array && starts(value, 0xff, 0xd8, 0xff)) {
      emit({ 'image/jpeg': value }, metadata);
    } else if (typeof value === 'string' && /^\s*<svg[\s>]/i.test(value)) {
      emit({ 'image/svg+xml': value }, metadata);
    } else if (typeof value === 'string' && /^\s*</.test(value)) {
      emit({ 'text/html': value }, metadata);
    } else if (isPlain(value) && Object.keys(value).length > 0 && isBundle(value)) {
      emit(value, metadata);
    } else if (isJson(value)) {
      emit({ 'application/json': value }, metadata);
    } else {
      console.log(value);
    }
  };
  display.html = (text) => emit({ 'text/html': String(text) });
  display.svg = (text) => emit({ 'image/svg+xml': String(text) });
  display.markdown = (text) => emit({ 'text/markdown': String(text) });
  display.latex = (text) => emit({ 'text/latex': String(text) });
  display.json = (value) => emit({ 'application/json': value });
  display.png = (image) => emit({ 'image/png': image });
  display.jpeg = (image) => emit({ 'image/jpeg': image });

  const isPlain = (value) =>
    typeof value === 'object' &&
    value !== null &&
    [Object.prototype, null].includes(Object.getPrototypeOf(value));
  const isBundle = (value) => Object.keys(value).every((key) => /^[a-z]+\/[\w.+-]+$/.test(key));
  const isJson = (value) => {
    if (!isPlain(value) && !(Array.isArray(value) && value.length > 0 && isPlain(value[0]))) {
      return false;
    }
    try {
      return JSON.stringify(value) !== undefined;
    } catch {
      return false;
    }
  };

  // ------------------------------------------------------------------------- imports and requires

  /** The code with the insides of its strings, templates and comments blanked. */
  const masked = (code) =>
    code.replace(
      /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g,
      (text) => text.replace(/[^\n]/g, '\u0001'),
    );

  const names = (list) => list.replace(/\bas\b/g, ':').replace(/\s+/g, ' ');

  /** Statements of modules, said with "await" so that a console understands them. */
  const asConsole = (code) => {
    if (!/\b(import|export)\b/.test(code)) return code;
    const mask = masked(code);
    const edits = [];
    const find = (pattern, edit) => {
      for (const match of mask.matchAll(pattern)) {
        const text = edit(match, (from, to) => code.slice(match.index + from, match.index + to));
        edits.push([match.index, match[0].length, text]);
      }
    };
    const lines = (match) => '\n'.repeat(match[0].split('\n').length - 1);
    find(
      /(?<=^|\n|;|\u0001)([ \t]*)import\b([ \t]*)((?:[\w$*{},\s]+?\bfrom\b)?\s*)(\u0001+)(\s*(?:with|assert)\s*\{[^}]*\})?/g,
      (match, original) => {
        const [, indent, , clause, quoted, attributes] = match;
        const at = match[0].indexOf(quoted);
        const source = original(at, at + quoted.length);
        const options = attributes
          ? `, { with: ${original(match[0].length - attributes.length, match[0].length).replace(/^\s*(with|assert)/, '')} }`
          : '';
        const load = `await __import(${source}${options})`;
        const what = clause.replace(/\bfrom\s*$/, '').trim();
        if (what === '') return `${indent}${load}${lines(match)}`;
        const parts = [];
        const braces = what.match(/\{([\s\S]*)\}/);
        const rest = what.replace(/\{[\s\S]*\}/, '');
        let whole = '';
        for (const part of rest.split(',').map((text) => text.trim())) {
          const space = part.match(/^\*\s*as\s+(\S+)$/);
          if (space) whole = space[1];
          else if (part !== '') parts.push(`default: ${part}`);
        }
        if (braces) parts.push(names(braces[1]).trim());
        const inner = parts.join(', ');
        if (whole === '') return `${indent}const { ${inner} } = ${load}${lines(match)}`;
        const also = inner === '' ? '' : `, { ${inner} } = ${whole}`;
        return `${indent}const ${whole} = ${load}${also}${lines(match)}`;
      },
    );
    find(/\bimport(\s*)\(/g, (match) => `__import${match[1]}(`);
    find(/\bimport\s*\.\s*meta\b/g, () => '__meta');
    find(/(?<=^|\n|;)([ \t]*)export\s+default\s+/g, (match) => `${match[1]}${lines(match)}`);
    find(/(?<=^|\n|;)([ \t]*)export\s+(?=const|let|var|function|class|async)/g, (match) => match[1]);
    find(/(?<=^|\n|;)([ \t]*)export\s*\{[^}]*\}/g, (match) => lines(match));
    edits.sort((a, b) => b[0] - a[0]);
    for (const [at, length, text] of edits) {
      code = code.slice(0, at) + text + code.slice(at + length);
    }
    return code;
  };

  const stamp = (file) => {
    try {
      const { mtimeMs, size } = fs.statSync(file);
      return `${mtimeMs}-${size}`;
    } catch {
      return '';
    }
  };
  const imported = new Map();

  /** import() as a module in the working directory does it; an edited file is read again. */
  const importFrom = (directory) => {
    const filename = path.join(directory, NAME);
    const byDefault = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
    const load = byDefault
      ? new vm.Script('(name, options) => import(name, options)', {
          filename,
          importModuleDynamically: byDefault,
        }).runInThisContext()
      : (name, options) => import(name, options);
    return (name, options) => {
      let target = String(name);
      if (/^\.{0,2}\//.test(target)) {
        target = pathToFileURL(path.resolve(directory, target)).href;
      }
      if (target.startsWith('file:')) {
        const now = stamp(new URL(target));
        const first = imported.get(target) ?? now;
        imported.set(target, first);
        if (first !== now) target += `?changed=${now}`;
      }
      return load(target, options);
    };
  };

  const versions = new Map();
  const forgetEdited = () => {
    const own = Object.keys(Module._cache).filter((file) => !file.includes('/node_modules/'));
    const edited = own.some((file) => versions.has(file) && versions.get(file) !== stamp(file));
    for (const file of own) {
      if (edited) {
        delete Module._cache[file];
        versions.delete(file);
      }
    }
  };
  const noteModules = () => {
    for (const file of Object.keys(Module._cache)) {
      if (!file.includes('/node_modules/') && !versions.has(file)) versions.set(file, stamp(file));
    }
  };

  // Values are put there unenumerably: a listing of the globals shows what the user made.
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, {
      value,
      writable: true,
      configurable: true,
      enumerable: false,
    });

  let preparedDirectory;
  const prepare = (request) => {
    process.chdir(request.directory);
    for (const name of Object.keys(process.env)) {
      if (!(name in request.environment)) delete process.env[name];
    }
    for (const [name, value] of Object.entries(request.environment)) {
      if (process.env[name] !== value) process.env[name] = value;
    }
    process.exitCode = undefined;
    forgetEdited();
    // A require that the user has put in its place stays while the directory does.
    if (preparedDirectory !== request.directory) {
      preparedDirectory = request.directory;
      const filename = path.join(request.directory, NAME);
      const main = new Module(filename, null);
      main.filename = filename;
      main.paths = Module._nodeModulePaths(request.directory);
      process.mainModule = main;
      define('module', main);
      define('exports', main.exports);
      define('require', Module.createRequire(filename));
      define('__filename', filename);
      define('__dirname', request.directory);
      define('__import', importFrom(request.directory));
      define('__meta', {
        url: pathToFileURL(filename).href,
        filename,
        dirname: request.directory,
        resolve: (name) => pathToFileURL(require.resolve(name)).href,
      });
    }
    define('display', display);
  };

  // ------------------------------------------------------------------------------------- failures

  const withoutOurs = (text) => {
    const kept = [];
    let ours = false;
    for (const line of text.split('\n')) {
      if (/^\s+at /.test(line)) {
        ours ||= line.includes(KERNEL) || line.includes('node:inspector');
        if (ours) continue;
      } else {
        ours = false;
      }
      kept.push(line);
    }
    return kept.join('\n').replace(/\n\s+at <anonymous>(?=\n|$)/g, '');
  };

  const report = (error, details) => {
    let text = '';
    // Of what was thrown the stack tells the place.
    if (details !== undefined && error instanceof SyntaxError && !error.stack?.includes(`${NAME}:`)) {
      const line = run.code.split('\n')[details.lineNumber];
      if (line !== undefined && line.length < 500) {
        text = `${NAME}:${details.lineNumber + 1}\n${line}\n${' '.repeat(details.columnNumber)}^\n\n`;
      }
    }
    const shown = util.types.isNativeError(error)
      ? withoutOurs(util.inspect(error))
      : `Uncaught ${util.inspect(error)}`;
    process.stderr.write(`${text}${shown}\n`);
  };

  class Exit {
    constructor(code) {
      this.code = code;
    }
  }

  process.exit = (code = process.exitCode ?? 0) => {
    run.exit ??= Number(code) & 0xff;
    throw new Exit(run.exit);
  };

  const uncaught = (error) => {
    if (run.finish === undefined) return;
    if (error instanceof Exit) {
      run.finish(error.code);
    } else {
      report(error);
      run.finish(1);
    }
  };
  process.on('uncaughtException', uncaught);
  process.on('unhandledRejection', uncaught);
  process.on('SIGINT', () => run.interrupt?.());

  // ------------------------------------------------------------------------------------- one run

  const valueOf = (remote) => {
    if (remote.objectId === undefined) {
      if (remote.unserializableValue === undefined) return remote.value;
      const text = remote.unserializableValue;
      return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);
    }
    let value;
    define('__take', (found) => (value = found));
    session.post('Runtime.callFunctionOn', {
      functionDeclaration: 'function (value) { __take(value) }',
      objectId: remote.objectId,
      arguments: [{ objectId: remote.objectId }],
    });
    delete globalThis.__take;
    return value;
  };

  const compiles = (code) => {
    try {
      new vm.Script(code);
      return true;
    } catch {
      return false;
    }
  };

  const counted = () => {
    const counts = new Map();
    const active = process.getActiveResourcesInfo();
    const serves = active.some((type) => LASTING.has(type));
    for (const type of active) {
      if (!LASTING.has(type) && !(serves && /^(TCP|PIPE)(Socket)?WRAP$/i.test(type))) counts.set(type, (counts.get(type) ?? 0) + 1);
    }
    return counts;
  };
  const isMore = (before) =>
    [...counted()].some(([type, count]) => count > (before.get(type) ?? 0));

  const starter = new vm.Script('__start()', { filename: KERNEL });

  const evaluate = (code) =>
    new Promise((resolve) => {
      define('__start', () => {
        delete globalThis.__start;
        session.post(
          'Runtime.evaluate',
          {
            expression: `${code}\n//# sourceURL=${NAME}`,
            replMode: true,
            awaitPromise: true,
            objectGroup: 'run',
          },
          (failure, reply) => resolve(failure ? { failure } : reply),
        );
      });
      try {
        starter.runInThisContext({ breakOnSigint: true });
      } catch (error) {
        if (error.code !== 'ERR_SCRIPT_EXECUTION_INTERRUPTED') throw error;
        resolve({ interrupted: true });
      }
    });

  const answer = async (request) => {
    const mine = { id: request.id, code: request.code, items: 0, total: 0 };
    run = mine;
    try {
      prepare(request);
    } catch (failure) {
      if (failure.syscall !== 'chdir') throw failure;
      send('directory', {});
      return;
    }
    const before = counted();
    let interrupted = false;
    const ended = new Promise((resolve) => {
      mine.finish = (code) => resolve({ code, result: null });
      mine.interrupt = () => {
        interrupted = true;
        resolve({ code: 130, result: null });
      };
    });
    const source = asConsole(request.code.replace(/^#!.*/, ''));
    const literal = /^\s*\{/.test(source) && !/;\s*$/.test(source) && compiles(`(${source}\n)`);
    const done = evaluate(literal ? `(${source}\n)` : source).then(async (reply) => {
      if (/Illegal return statement/.test(reply.exceptionDetails?.exception?.description)) {
        // A program may end like a function.
        reply = await evaluate(`await (async () => {${source}\n})()`);
      }
      if (reply.interrupted) {
        mine.interrupt();
        return ended;
      }
      if (reply.failure) return { code: 1, result: null, message: reply.failure.message };
      if (mine.exit !== undefined) return { code: mine.exit, result: null };
      if (reply.exceptionDetails) {
        const details = reply.exceptionDetails;
        report(valueOf(details.exception), details);
        return { code: 1, result: null };
      }
      const value = reply.result.type === 'undefined' ? undefined : valueOf(reply.result);
      // As long as there is work of this run it goes on, as a program does.
      await new Promise(setImmediate);
      while (isMore(before)) {
        await new Promise((resolve) => realSetTimeout(resolve, POLL_MILLIS).unref());
      }
      return { code: mine.exit ?? Number(process.exitCode ?? 0) & 0xff, value };
    });
    let { code, result, value, message } = await Promise.race([ended, done]);
    if (message !== undefined) process.stderr.write(`${message}\n`);
    if (value !== undefined) {
      try {
        result = util.inspect(value).slice(0, MAX_RESULT);
        if (isPlain(value) && isJson(value)) {
          emit({ 'application/json': value, 'text/plain': result });
        }
      } catch (failure) {
        report(failure);
        code = 1;
      }
    }
    mine.finish = undefined;
    mine.interrupt = undefined;
    session.post('Runtime.releaseObjectGroup', { objectGroup: 'run' });
    noteModules();
    for (const output of outputs) write(output, request.mark);
    // What goes on after an interruption would write into the runs that follow.
    send('done', { code, result: result ?? null, interrupted, restart: interrupted && isMore(before) });
  };

  let queue = Promise.resolve();
  let pending = [];
  new net.Socket({ fd: requests, readable: true, writable: false })
    .on('data', (chunk) => {
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10)) {
        const line = Buffer.concat([...pending, chunk.subarray(0, end)]);
        pending = [];
        chunk = chunk.subarray(end + 1);
        queue = queue.then(() => answer(JSON.parse(line)));
      }
      if (chunk.length > 0) pending.push(chunk);
    })
    .on('end', () => process.reallyExit(0));
  noteModules();
  send('ready', {});
})();
