// Runs the program that comes over stdin, in the first of these forms that its syntax allows: a
// CommonJS module, the same with top-level await, an ES module. "require" works in all three.
// Nothing declared here is visible to the program: all of it stands in one function.
(() => {
  const fs = require('node:fs');
  const vm = require('node:vm');
  const path = require('node:path');
  const Module = require('node:module');

  const source = fs.readFileSync(0, 'utf8').replace(/^#!.*/, '');
  // The lowest free descriptor is the one just closed, so the program's stdin is /dev/null.
  fs.closeSync(0);
  fs.openSync('/dev/null', 'r');

  const filename = path.join(process.cwd(), '[code]');
  const main = new Module(filename, null);
  main.filename = filename;
  main.paths = Module._nodeModulePaths(process.cwd());
  // "require.main === module" is how a script asks whether it is the program.
  process.mainModule = main;
  const names = ['exports', 'require', 'module', '__filename', '__dirname'];
  const values = [
    main.exports,
    Module.createRequire(filename),
    main,
    filename,
    process.cwd(),
  ];
  // An import from here is resolved from the working directory, as the program's own would be.
  const importModuleDynamically = (specifier, _, attributes) =>
    import(specifier, attributes ? { with: attributes } : undefined);

  const asScript = () =>
    vm.compileFunction(source, names, { filename: '[code]', importModuleDynamically });

  const asAwaiting = () => {
    const head = `(async function (${names.join(', ')}) {`;
    return new vm.Script(`${head}${source}\n})`, {
      filename: '[code]',
      columnOffset: -head.length,
      importModuleDynamically,
    }).runInThisContext();
  };

  const asModule = () => {
    globalThis.require = values[1];
    const warn = process.emitWarning;
    process.emitWarning = () => {};
    try {
      const module = new vm.SourceTextModule(source, {
        identifier: '[code]',
        importModuleDynamically,
        initializeImportMeta: (meta) => {
          meta.url = require('node:url').pathToFileURL(filename).href;
          meta.filename = filename;
          meta.dirname = process.cwd();
        },
      });
      const link = async (specifier, _, extra) => {
        const found = await importModuleDynamically(specifier, _, extra?.attributes);
        return new vm.SyntheticModule(Object.keys(found), function () {
          for (const name of Object.keys(found)) {
            this.setExport(name, found[name]);
          }
        });
      };
      return async () => {
        await module.link(link);
        await module.evaluate();
      };
    } finally {
      process.emitWarning = warn;
    }
  };

  let failure;
  for (const form of [asScript, asAwaiting, asModule]) {
    try {
      const program = form();
      // From the event loop no frame of this file stands in the program's stack traces.
      process.nextTick(program.bind(main.exports), ...values);
      return;
    } catch (error) {
      // The last form allows the most, but only a program that uses it is judged by it.
      if (failure === undefined || /\b(await|import|export)\b/.test(source)) {
        failure = error;
      }
    }
  }
  const stack = String(failure.stack);
  const ours = stack.indexOf('\n    at ');
  failure.stack = `${ours < 0 ? stack : stack.slice(0, ours)}\n    at [code]`;
  // Uncaught, it is printed with the line it is about.
  process.nextTick(() => {
    throw failure;
  });
})();
