import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { arrivals, askingOf, expectNothingLost, setScene, subscribeReceiver } from '../crash/scene.ts';
import { scrape } from '../metrics/scrape.ts';
import { eventually } from '../support/eventually.ts';
import { Load } from '../support/load.ts';
import { isAlive, type Program } from '../support/program.ts';
import { serve } from '../support/servers/serve.ts';

/** The real program as several processes. */
const TWO = { POSTHORN_PROCESSES: '2' };
const EVENTS = 800;

/** Process ids of the nodes below the primary. */
function nodesOf(program: Program): number[] {
  try {
    const text = execFileSync('pgrep', ['-P', String(program.pid), '-f', 'processes/worker-main'], {
      encoding: 'utf8',
    });
    return text.trim().split('\n').map(Number);
  } catch {
    // pgrep ends with 1 where there is none.
    return [];
  }
}

/**
 * On a connection of its own, which may have been given to a process that is just being killed. `fetch` would take a
 * connection that an earlier call left open, whose process may be the one that stands still.
 */
const readiness = async (url: string) => {
  try {
    const [answer] = (await once(get(`${url}/readyz`, { agent: false }), 'response')) as [IncomingMessage];
    return `${answer.statusCode} ${((await json(answer)) as { message: string }).message}`;
  } catch (error) {
    return String(error);
  }
};

const logLines = (program: Program) =>
  program.stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { process?: number; msg: string });

// proves Instance: POSTHORN_PROCESSES
test('two processes serve on one port, both deliver, and a stop ends both cleanly', async (context) => {
  const scene = await setScene(context);
  const program = await scene.start({ ...TWO, POSTHORN_DATABASE_CONNECTIONS: '15' });
  const url = await program.ready();
  const pids = nodesOf(program);
  expect(pids).toHaveLength(2);
  expect(await readiness(url)).toBe('200 Ready');
  await subscribeReceiver(scene, program);
  const load = new Load([await scene.client(program)], EVENTS);
  await load.done;
  await expectNothingLost(askingOf(program), load.accepted, scene.receiver);
  expect(Math.max(...arrivals(scene.receiver).values())).toBe(1);

  const { value, series } = await scrape(url);
  const both = (name: string, labels: string) =>
    [1, 2].map((number) => value(`${name}{${labels},process="${number}"}`));
  const finished = both('posthorn_deliveries_finished_total', 'status="success"');
  expect(finished[0]! + finished[1]!).toBe(load.accepted.size);
  expect(Math.min(...finished)).toBeGreaterThan(0);
  expect(Math.min(...both('posthorn_events_total', 'result="stored"'))).toBeGreaterThan(0);
  expect(series.filter((name) => !/[{,]process="[012]"[,}]/.test(name))).toEqual([]);
  expect(series.length).toBe(new Set(series).size);
  expect(value('posthorn_process_resident_memory_bytes{process="0"}')).toBeGreaterThan(0);

  const sql = `select count(*)::int as connections from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`;
  const [row] = (await askingOf(program)(sql)) as { connections: number }[];
  expect(row!.connections).toBeGreaterThanOrEqual(2 * 3);
  expect(row!.connections).toBeLessThanOrEqual(15);

  expect(await program.stop()).toEqual({ code: 0, signal: null });
  expect([...pids, program.databases[0]!.pid].filter(isAlive)).toEqual([]);
  expect(program.stdout.match(/Posthorn is ready at/g)).toHaveLength(1);
  const lines = logLines(program);
  expect(lines.filter((line) => line.process === undefined)).toEqual([]);
  expect(lines.filter(({ msg }) => msg === 'ready')).toHaveLength(1);
  const stopped = lines.filter(({ msg }) => msg === 'stopped').map((line) => line.process);
  expect(new Set(stopped)).toEqual(new Set([0, 1, 2]));
  expect(stopped).toHaveLength(3);
});

test('a killed process comes back, nothing is lost, and no client waits for ever', async (context) => {
  const scene = await setScene(context);
  const program = await scene.start(TWO);
  const url = await program.ready();
  await subscribeReceiver(scene, program);
  const load = new Load([await scene.client(program)], EVENTS);
  await load.reached(EVENTS / 3);
  const [victim, survivor] = nodesOf(program) as [number, number];
  process.kill(victim, 'SIGKILL');
  await eventually(() => readiness(url), '503 Not ready: 1 of 2 processes not running');
  await load.done;
  await eventually(() => readiness(url), '200 Ready');
  const now = nodesOf(program);
  expect(now).toHaveLength(2);
  expect(now).toContain(survivor);
  expect(now).not.toContain(victim);
  expect(program.stdout.match(/Posthorn is ready at/g)).toHaveLength(1);
  await expectNothingLost(askingOf(program), load.accepted, scene.receiver);
  expect(Math.max(...arrivals(scene.receiver).values())).toBeLessThanOrEqual(2);
  const both = [1, 2].map((number) => `posthorn_window_size{process="${number}"}`);
  const { value } = await scrape(url);
  expect(both.map(value)).toEqual([3000, 3000]);
  await expectNoneWaits(url, survivor);
});

/** A connection that was given to a process is closed if the process dies before it takes it. */
async function expectNoneWaits(url: string, victim: number): Promise<void> {
  process.kill(victim, 'SIGSTOP');
  let settled = 0;
  const settle = (count: number) => eventually(async () => settled, count);
  // Connections are shared out in turn, so one of them waits at the process that stands still.
  const answers = Array.from({ length: 4 }, () => readiness(url).finally(() => (settled += 1)));
  await settle(3);
  process.kill(victim, 'SIGKILL');
  await settle(4);
  expect((await Promise.all(answers)).filter((text) => text.startsWith('Error: '))).toHaveLength(1);
}

test('processes whose primary is killed end by themselves, and the next start loses nothing', async (context) => {
  const scene = await setScene(context);
  const program = await scene.start(TWO);
  await subscribeReceiver(scene, program);
  const load = new Load([await scene.client(program)], EVENTS);
  await load.reached(EVENTS / 3);
  const pids = nodesOf(program);
  expect(pids).toHaveLength(2);
  await program.kill();
  await eventually(async () => pids.filter(isAlive), { length: 0 });
  await load.stop();

  const again = await scene.start(TWO);
  await expectNothingLost(askingOf(again), load.accepted, scene.receiver);
  expect(Math.max(...arrivals(scene.receiver).values())).toBeLessThanOrEqual(2);
});

test('a process that cannot start ends the program, with one clear line and nothing left running', async (context) => {
  const scene = await setScene(context);
  const env = { POSTHORN_DATA_DIR: scene.dataDir, POSTHORN_CA_FILE: '/nowhere.pem', ...TWO };
  const program = serve(env, context.onTestFinished);
  expect(await program.ended).toEqual({ code: 1, signal: null });
  const told = program.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  expect(told).toEqual([
    "posthorn: POSTHORN_CA_FILE cannot be read: ENOENT: no such file or directory, open '/nowhere.pem'",
  ]);
  expect(program.stdout).toBe('');
  expect(isAlive(program.databases[0]!.pid)).toBe(false);
});

test('a process that hangs is killed after the grace, and the log says so', async (context) => {
  const scene = await setScene(context);
  const program = await scene.start({ ...TWO, POSTHORN_GRACE: '2' });
  const pids = nodesOf(program);
  process.kill(pids[0]!, 'SIGSTOP');
  program.signal('SIGINT');
  expect(await program.ended).toEqual({ code: 1, signal: null });
  // The database gets the stop signal too. With little of the grace left it ends by itself.
  await eventually(async () => [...pids, program.databases[0]!.pid].filter(isAlive), { length: 0 });
  expect(logLines(program).map(({ msg }) => msg)).toContain('killing processes that did not stop in time');
});

/** Runs in each process: SIGUSR2 makes its metrics fail, SIGHUP is an error that no code handles. */
const FAULTS = `
process.on('SIGUSR2', () => {
  process.cpuUsage = () => { throw new Error('no usage'); };
});
process.on('SIGHUP', () => {
  Promise.reject(new Error('stray'));
});`;

test('metrics that fail end no process, and an error that no code handles stops its process cleanly', async (context) => {
  const scene = await setScene(context);
  const preload = `--import=data:text/javascript,${encodeURIComponent(FAULTS)}`;
  const program = await scene.start({ ...TWO, NODE_OPTIONS: preload });
  const url = await program.ready();
  const [first] = nodesOf(program) as [number, number];
  const metrics = async () => {
    const response = await fetch(`${url}/metrics`);
    return { status: response.status, text: await response.text() };
  };
  const window = (text: string) => [1, 2].map((n) => text.includes(`posthorn_window_size{process="${n}"}`));

  process.kill(first, 'SIGUSR2');
  const { status, text } = await eventually(metrics, (page) => window(page.text).includes(false));
  expect([status, window(text).filter(Boolean).length]).toEqual([200, 1]);
  process.kill(program.pid, 'SIGUSR2');
  await eventually(metrics, { status: 500 });
  expect(await readiness(url)).toBe('200 Ready');
  expect(nodesOf(program)).toContain(first);

  process.kill(first, 'SIGHUP');
  await eventually(
    async () => [isAlive(first), await readiness(url)],
    ([isUp, text]) => isUp === false && text === '200 Ready',
  );
  const faults = () => logLines(program).filter(({ msg }) => msg.startsWith('stopping because of a fault'));
  expect(faults()).toMatchObject([{ err: { message: 'stray' } }]);
  const [{ process: number } = {}] = faults();
  expect(logLines(program)).toContainEqual(expect.objectContaining({ process: number, msg: 'stopped' }));

  process.kill(program.pid, 'SIGHUP');
  expect(await program.ended).toEqual({ code: 1, signal: null });
  expect(faults()).toHaveLength(2);
  expect(logLines(program)).toContainEqual(expect.objectContaining({ process: 0, msg: 'stopped' }));
});
