import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The fault matrix: what is done to a running service, the test that does it, and what a user sees. Each test asserts that
 * nothing accepted is lost. A new fault is one more row here.
 */
interface Fault {
  fault: string;
  file: string;
  /** The part of its name that selects the test. Absent: all of the file. */
  test?: string;
  seen: string;
}

const FAULTS: readonly Fault[] = [
  {
    fault: 'node and database killed',
    file: 'test/crash/killed.test.ts',
    test: 'node and database killed',
    seen: 'calls fail until the restart',
  },
  {
    fault: 'node killed',
    file: 'test/crash/killed.test.ts',
    test: 'only the node killed',
    seen: 'deliveries under way arrive once more at most',
  },
  {
    fault: 'database killed',
    file: 'test/crash/killed.test.ts',
    test: 'only the database killed',
    seen: 'calls wait or get 503',
  },
  {
    fault: 'one of two nodes killed',
    file: 'test/crash/two-nodes.test.ts',
    seen: 'the other goes on within 15 s',
  },
  {
    fault: 'node frozen and woken',
    file: 'test/crash/paused.test.ts',
    seen: 'others send; no endpoint is blamed',
  },
  {
    fault: 'holder of a limit killed or frozen',
    file: 'test/crash/rate-lease.test.ts',
    seen: 'deliveries wait one duration',
  },
  {
    fault: 'order by key, kills and freezes',
    file: 'test/crash/order.test.ts',
    test: 'each key keeps its order',
    seen: 'each key keeps its order',
  },
  {
    fault: 'consumers and their node killed',
    file: 'test/crash/pull.test.ts',
    seen: 'leases end, deliveries are given again',
  },
  {
    fault: 'machine asleep, clock set',
    file: 'src/engine/queue/heartbeat.test.ts',
    seen: 'nothing is sent until the next beat',
  },
  {
    fault: 'clock of a node set, an hour each way and 30 days ahead',
    file: 'test/crash/clock-jumps.test.ts',
    test: 'clock of the node',
    seen: 'nothing',
  },
  {
    fault: 'clock of the database set',
    file: 'test/crash/clock-jumps.test.ts',
    test: 'clock of the database',
    seen: 'retries come earlier or later, a window of a limit may end early',
  },
  {
    fault: 'restored to a point in time',
    file: 'test/backup/point-in-time.test.ts',
    seen: 'all until then; senders repeat the rest',
  },
  {
    fault: 'backup under load, restored',
    file: 'test/backup/backup.test.ts',
    seen: 'one moment, without a gap',
  },
  {
    fault: 'damaged, truncated or newer backup',
    file: 'test/backup/refused.test.ts',
    seen: 'refused with the reason',
  },
  {
    fault: 'upgrade under load, and one step back',
    file: 'test/processes/two-versions.test.ts',
    seen: 'nothing',
  },
  {
    fault: 'downgrade',
    file: 'test/store/rolling-upgrade.test.ts',
    seen: 'the start ends and names the migration',
  },
  {
    fault: 'disk full',
    file: 'test/crash/broken-disk.test.ts',
    test: 'full',
    seen: '503 until there is space; reading works',
  },
  {
    fault: 'corrupt page in a history table',
    file: 'test/crash/broken-disk.test.ts',
    test: 'corrupt',
    seen: 'reads of that page fail alone',
  },
  {
    fault: 'primary killed, frozen or cut off; its standby promoted',
    file: 'test/failover/failover.test.ts',
    seen: '503 until the promotion',
  },
  {
    fault: 'the old primary is the only one again',
    file: 'test/failover/old-primary.test.ts',
    seen: '503 until it is [accepted](operations.md#an-old-primary-that-comes-back-as-the-only-one)',
  },
  {
    fault: 'old primary comes back',
    file: 'test/failover/split.test.ts',
    seen: 'nothing is written to it',
  },
  {
    fault: 'standby for reads away',
    file: 'test/failover/standby-reads.test.ts',
    seen: 'the primary serves them',
  },
  {
    fault: 'project moved under load, mover killed',
    file: 'test/cells/move-under-load.test.ts',
    seen: '503 while it is closed; then it is open',
  },
  {
    fault: 'move stopped half-way, late mover',
    file: 'test/cells/settle.test.ts',
    seen: 'the project stays where it was',
  },
  {
    fault: 'cell away, home away',
    file: 'test/cells/two-cells.test.ts',
    test: 'a cell that is away',
    seen: '503 for its projects alone',
  },
];

export interface TriedFault extends Fault {
  passed: boolean;
}

const ROOT = join(import.meta.dirname, '..', '..');

interface TestReport {
  testResults: { name: string; assertionResults: { fullName: string; status: string }[] }[];
}

/** One run for all of them: most of their time is waiting. Null: as many at a time as there are cores. */
async function runTests(faults: readonly Fault[], atOnce: number | null): Promise<TestReport> {
  const folder = await mkdtemp(join(tmpdir(), 'posthorn-faults-'));
  const report = join(folder, 'report.json');
  const files = [...new Set(faults.map(({ file }) => file))];
  const vitest = join(ROOT, 'node_modules', '.bin', 'vitest');
  const workers = atOnce === null ? [] : ['--maxWorkers', String(atOnce)];
  const child = spawn(vitest, ['run', '--reporter=json', `--outputFile=${report}`, ...workers, ...files], {
    cwd: ROOT,
    env: { ...process.env, TEST_STRICT: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  const read = JSON.parse(await readFile(report, 'utf8')) as TestReport;
  await rm(folder, { recursive: true });
  return read;
}

/** All tests of the row ran and passed. */
function isPassed({ file, test }: Fault, { testResults }: TestReport): boolean {
  const own = testResults
    .filter(({ name }) => name.endsWith(`/${file}`))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ fullName }) => test === undefined || fullName.includes(test));
  return own.length > 0 && own.every(({ status }) => status === 'passed');
}

/** With names only those that contain one of them. Those that are done are not tried again. */
export async function tryFaults(
  names: readonly string[],
  say: (line: string) => void,
  done: ReadonlyMap<string, boolean>,
): Promise<TriedFault[]> {
  const isChosen = ({ fault }: Fault) => names.length === 0 || names.some((name) => fault.includes(name));
  const chosen = FAULTS.filter(isChosen);
  const open = chosen.filter(({ fault }) => !done.has(fault));
  const report = open.length > 0 ? await runTests(open, null) : { testResults: [] };
  // A test that fails among others on a crowded machine may pass by itself.
  const failed = open.filter((fault) => !isPassed(fault, report));
  const alone = failed.length > 0 ? await runTests(failed, 1) : { testResults: [] };
  return chosen.map((fault) => {
    const passed = done.get(fault.fault) ?? (isPassed(fault, report) || isPassed(fault, alone));
    say(`${passed ? 'ok     ' : 'NOT OK '} fault: ${fault.fault}`);
    return { ...fault, passed };
  });
}
