/** Calls and processes when a process or the node is ended from outside. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type FunctionCall, functionVersion } from './contract.ts';
import { Sandbox } from './sandbox.ts';

/** Processes are looked up in /proc. */
const onLinux = process.platform === 'linux';
/** No machine is so slow that a short function uses this. */
const PLENTY_MS = 10_000;
const endless = 'function transform() { for (;;); }';

function callOf(code: string, cpuMs: number): FunctionCall {
  const common = { tenant: 'a', input: '{}', seed: '', nowMs: 0, limits: { cpuMs } };
  return { code, version: functionVersion(code), ...common };
}

function childrenOf(pid: number | 'self'): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}

/** CPU time of all its threads in hundredths of a second. */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

async function newChild(before: Set<number>, ready: (pid: number) => boolean): Promise<number> {
  for (;;) {
    const pid = childrenOf('self').find((child) => !before.has(child) && ready(child));
    if (pid !== undefined) {
      before.add(pid);
      return pid;
    }
    await wait(2);
  }
}

/** Starting takes far less. */
const isLooping = (pid: number) => cpuTicks(pid) > 80;

describe.runIf(onLinux)('a sandbox process', () => {
  it.each([0, 15])('of suspects has a low priority, started with nice %i one as low', async (nice) => {
    const main = [
      process.execPath,
      '--no-node-snapshot',
      join(import.meta.dirname, 'worker-main.ts'),
      'suspect',
    ];
    const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const;
    const child = spawn('nice', ['-n', String(nice), ...main], { stdio: [...stdio] });
    onTestFinished(() => void child.kill('SIGKILL'));
    expect(await once(child, 'message')).toEqual(['ready', undefined]);
    expect(getPriority(child.pid)).toBe(Math.max(10, Math.min(19, getPriority() + nice)));
  });

  it.each([
    ['SIGSEGV', 'crashed', false],
    ['SIGKILL', 'sandbox_lost', true],
  ] as const)('ended twice by %s under a call that is alone gives %s', async (signal, error, ours) => {
    const sandbox = new Sandbox({ processes: 1 });
    const before = new Set(childrenOf('self'));
    const result = sandbox.run(callOf(endless, 10_000));
    process.kill(await newChild(before, isLooping), signal);
    process.kill(await newChild(before, isLooping), signal);
    expect(await result).toMatchObject({ ok: false, error, ours });
    await sandbox.close();
  });

  it('that fails to start three times fails its calls, and the next call tries again', async () => {
    const sandbox = new Sandbox({ processes: 1 });
    const before = new Set(childrenOf('self'));
    const lost = sandbox.run(callOf('const transform = () => 1', PLENTY_MS));
    for (let i = 0; i < 3; i += 1) process.kill(await newChild(before, () => true), 'SIGKILL');
    expect(await lost).toMatchObject({ ok: false, error: 'sandbox_lost', ours: true });
    expect(await sandbox.run(callOf('const transform = () => 1', PLENTY_MS))).toMatchObject({ ok: true });
    await sandbox.close();
  });

  it('gets no environment variable of the node', async () => {
    vi.stubEnv('POSTHORN_SECRET_KEY', 'do-not-pass-on');
    onTestFinished(() => void vi.unstubAllEnvs());
    const sandbox = new Sandbox({ processes: 1 });
    const before = new Set(childrenOf('self'));
    await sandbox.run(callOf('const transform = () => 1', PLENTY_MS));
    const pid = await newChild(before, () => true);
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
    expect(environment).toContain('TZ=UTC');
    expect(environment).not.toMatch(/do-not-pass-on|PATH=|HOME=/);
    await sandbox.close();
  });

  it('that gets no CPU for long fails no function', async () => {
    const sandbox = new Sandbox({ processes: 1 });
    const before = new Set(childrenOf('self'));
    await sandbox.run(callOf('const transform = () => 1', PLENTY_MS));
    const pid = await newChild(before, () => true);
    const code = 'function transform() { let n = 0; for (let i = 0; i < 4e7; i++) n += i % 7; return n }';
    const progress = { ended: false };
    const result = sandbox.run(callOf(code, 500)).finally(() => {
      progress.ended = true;
    });
    // It needs about a hundredth of a second of CPU ten times, and stands still in between for twice its limit.
    while (!progress.ended) {
      process.kill(pid, 'SIGSTOP');
      await wait(100);
      const ticks = cpuTicks(pid);
      process.kill(pid, 'SIGCONT');
      while (!progress.ended && cpuTicks(pid) === ticks) await wait(2);
    }
    expect(await result).toMatchObject({ ok: true, output: '119999995' });
    await sandbox.close();
  });
});

describe.runIf(onLinux)('a node that is killed', () => {
  it.each(['for (;;);', 'return [].indexOf.call({ length: 2 ** 53 - 1 }, 1)'])(
    'leaves no process behind, not even in: %s',
    async (statements) => {
      const script = `
        import { Sandbox } from ${JSON.stringify(new URL('./sandbox.ts', import.meta.url).href)};
        const call = { version: '1', tenant: 'a', input: '{}', seed: '', nowMs: 0, limits: { cpuMs: 200 } };
        const sandbox = new Sandbox({ processes: 1 });
        await sandbox.run({ ...call, code: 'const transform = () => 1' });
        void sandbox.run({ ...call, version: '2', code: 'function transform() { ${statements} }' });
        console.log('running');`;
      const node = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(node.stdout, 'data');
      const [pid] = childrenOf(node.pid as number);
      node.kill('SIGKILL');
      await once(node, 'exit');
      while (existsSync(`/proc/${pid}`)) await wait(10);
      expect(pid).toBeGreaterThan(0);
    },
  );
});
