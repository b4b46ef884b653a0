import { setTimeout as pause } from 'node:timers/promises';
import { usageOf } from './cost/process-usage.ts';
import type { Sample } from './figure.ts';
import type { Load, LoadResult } from './load-generator.ts';
import type { SinkReport } from './sink.ts';
import type { Stage } from './stage.ts';

/**
 * The measured system: where to publish, which process does the work, and how to check that all of it is
 * recorded.
 */
export interface Subject {
  url: string;
  authorization: string;
  pid: number;
  isRecorded(): Promise<boolean>;
}

const ARRIVAL_MS = 120_000;
const POLL_MS = 10;

/**
 * Publishes, waits until every accepted event has arrived at the sink and is recorded, and compares the
 * numbers. The rate is events accepted, delivered and recorded, divided by the time until all three were
 * done.
 */
export async function measureDeliveries(
  stage: Stage,
  subject: Subject,
  load: Omit<Load, 'url' | 'authorization' | 'run'>,
): Promise<Sample> {
  const run = await stage.newRun();
  const before = usage(stage, subject);
  const startedMs = performance.now();
  const result = await publish(stage, subject, { ...load, run });
  const report = await arrived(stage, (sink) => sink.distinct >= result.accepted);
  while (!(await subject.isRecorded())) await pause(POLL_MS);
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  return {
    eventsPerSecond: result.accepted / elapsedSeconds,
    events: result.accepted,
    lost: result.accepted - report.distinct,
    duplicates: report.received - report.distinct,
    p50Ms: report.p50Ms,
    p99Ms: report.p99Ms,
    ackP50Ms: result.ackP50Ms,
    ackP99Ms: result.ackP99Ms,
    ...cost(before, usage(stage, subject), { seconds: elapsedSeconds, events: result.accepted }),
  };
}

/** Publishes events that are stored and not sent. The rate is that of the answers. */
export async function measureAccepts(
  stage: Stage,
  subject: Subject,
  load: Omit<Load, 'url' | 'authorization' | 'run'>,
): Promise<Sample> {
  const run = await stage.newRun();
  const before = usage(stage, subject);
  const { accepted, elapsedMs } = await publish(stage, subject, { ...load, run });
  const seconds = elapsedMs / 1000;
  const used = cost(before, usage(stage, subject), { seconds, events: accepted });
  return { eventsPerSecond: accepted / seconds, events: accepted, ...used };
}

/** Publishes and waits until every delivery has ended, wherever it went. */
export async function measureRecorded(
  stage: Stage,
  subject: Subject,
  load: Omit<Load, 'url' | 'authorization' | 'run'>,
): Promise<Sample> {
  const run = await stage.newRun();
  const before = usage(stage, subject);
  const startedMs = performance.now();
  const { accepted } = await publish(stage, subject, { ...load, run });
  while (!(await subject.isRecorded())) await pause(POLL_MS);
  const seconds = (performance.now() - startedMs) / 1000;
  const used = cost(before, usage(stage, subject), { seconds, events: accepted });
  return { eventsPerSecond: accepted / seconds, events: accepted, ...used };
}

async function publish(
  stage: Stage,
  { url, authorization }: Subject,
  load: Omit<Load, 'url' | 'authorization'>,
): Promise<LoadResult> {
  const result = await stage.load.call<LoadResult>('run', { ...load, url, authorization } satisfies Load);
  if (result.refused > 0) throw new Error(`${result.refused} events refused; the first: ${result.refusal}`);
  return result;
}

/** The sink's report once it is complete, or after two minutes. Events missing then are lost. */
export async function arrived(stage: Stage, isWanted: (report: SinkReport) => boolean): Promise<SinkReport> {
  for (const startedMs = performance.now(); ; await pause(POLL_MS)) {
    const report = await stage.sink.call<SinkReport>('report');
    if (isWanted(report) || performance.now() - startedMs > ARRIVAL_MS) return report;
  }
}

function usage(stage: Stage, subject: Subject) {
  return {
    Service: usageOf(subject.pid),
    Database: usageOf(stage.postgresPid),
    Load: usageOf(stage.load.pid),
    Sink: usageOf(stage.sink.pid),
  };
}

type Processes = ReturnType<typeof usage>;

/**
 * For each process: cores used, CPU time per event and memory, if the system reports them. The time per event
 * is least affected by a busy neighbour.
 */
function cost(before: Processes, after: Processes, over: { seconds: number; events: number }): Sample {
  const sample: Sample = {};
  for (const name of Object.keys(after) as (keyof typeof after)[]) {
    const from = before[name];
    const to = after[name];
    if (from === null || to === null) continue;
    const cpuSeconds = to.cpuSeconds - from.cpuSeconds;
    sample[`cores${name}`] = cpuSeconds / over.seconds;
    sample[`micros${name}`] = (cpuSeconds * 1e6) / over.events;
    sample[`memory${name}Mb`] = to.memoryBytes / 2 ** 20;
  }
  return sample;
}
