// The main job through the official JavaScript SDK; one line `ok STEP` for each step that held.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox } from '@hopx-ai/sdk';

const baseURL = process.env.HOPX_BASE_URL;
const apiKey = process.env.HOPX_API_KEY;

function step(name, condition, shown) {
  if (!condition) {
    console.log(`FAILED ${name}: ${JSON.stringify(shown)}`);
    process.exit(1);
  }
  console.log(`ok ${name}`);
}

async function refused(name, errorName, action) {
  try {
    await action();
  } catch (error) {
    step(name, error.constructor.name === errorName, `${error.constructor.name}: ${error.message}`);
    return;
  }
  step(name, false, 'nothing was thrown');
}

async function languages(sandbox) {
  let result = await sandbox.runCode("print('hello from python')");
  step('python', result.success && result.stdout === 'hello from python\n', result);
  result = await sandbox.runCode('console.log([1,2,3].join())', { language: 'javascript' });
  step('javascript', result.success && result.stdout === '1,2,3\n', result);
  result = await sandbox.runCode('echo $((6 * 7))', { language: 'bash' });
  step('bash', result.success && result.stdout === '42\n', result);
  const code = 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello from go") }\n';
  result = await sandbox.runCode(code, { language: 'go', timeout: 110 });
  step('go', result.success && result.stdout === 'hello from go\n', result);
  result = await sandbox.runCode('raise ValueError("no")');
  step('user error is a result', !result.success && result.stderr.includes('ValueError'), result);
}

async function files(sandbox) {
  await sandbox.files.write('/workspace/a.txt', 'one\ntwo\n');
  step('write and read text', (await sandbox.files.read('/workspace/a.txt')) === 'one\ntwo\n');
  const blob = Buffer.from(Array.from({ length: 70000 }, (_, index) => (index * 7) % 256));
  await sandbox.files.writeBytes('/workspace/blob.bin', blob);
  step('write and read bytes', blob.equals(await sandbox.files.readBytes('/workspace/blob.bin')));
  await sandbox.files.write('/workspace/あ b.txt', 'ünïcödé 🤣');
  step('odd name', (await sandbox.files.read('/workspace/あ b.txt')) === 'ünïcödé 🤣');
  const names = (await sandbox.files.list('/workspace')).map((entry) => entry.name);
  step('list', names.includes('あ b.txt') && names.includes('blob.bin'), names);
  await sandbox.files.mkdir('/workspace/made/deep');
  step('mkdir', await sandbox.files.exists('/workspace/made/deep'));
  await sandbox.files.remove('/workspace/a.txt');
  step('remove', !(await sandbox.files.exists('/workspace/a.txt')));
  const local = join(process.env.HOPX_TEST_DIRECTORY, 'upload-js.bin');
  writeFileSync(local, blob);
  await sandbox.files.upload(local, '/workspace/up.bin');
  step('upload and download', blob.equals(await sandbox.files.download('/workspace/up.bin')));
  await refused('missing file', 'FileNotFoundError', () => sandbox.files.read('/workspace/missing'));
}

async function environment(sandbox) {
  const set = await sandbox.env.setAll({ A: '1', B: '2' });
  step('env set', set.A === '1' && set.B === '2', set);
  await sandbox.env.update({ B: '3' });
  await sandbox.env.delete('A');
  const result = await sandbox.commands.run('echo [$A][$B]');
  step('env in commands', result.stdout === '[][3]\n', result);
}

const sandbox = await Sandbox.create({
  template: 'code-interpreter', apiKey, baseURL, envVars: { CREATED: 'with' },
});
try {
  const info = await sandbox.getInfo();
  step('running', info.status === 'running', info);
  const result = await sandbox.commands.run('echo $CREATED; exit 3');
  step('command', result.stdout === 'with\n' && result.exit_code === 3, result);
  await languages(sandbox);
  await files(sandbox);
  await environment(sandbox);
  await sandbox.refreshToken();
  step('after refresh', await sandbox.files.exists('/workspace/up.bin'));
  const listed = (await Sandbox.list({ apiKey, baseURL })).map((box) => box.sandboxId);
  step('listed', listed.includes(sandbox.sandboxId), listed);
} finally {
  await sandbox.kill();
}
await refused('gone after kill', 'SandboxExpiredError', () => sandbox.getInfo());
await refused('wrong key', 'AuthenticationError', () =>
  Sandbox.create({ template: 'code-interpreter', apiKey: 'hopx_live_wrong.key', baseURL }));
console.log('all held');
