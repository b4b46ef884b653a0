/**
 * Counts of events, deliveries and attempts per minute and hour: of each project, endpoint and source. Counting is a
 * lookup in a map and an addition. src/engine/upkeep/traffic-writer.ts stores the counts.
 *
 * States of an entry, which is one subject in one minute or hour:
 *   current -> its time is not over: new counts go into it, through the map of its step;
 *   changed -> it has counts that are not stored: it is in the list of changed entries, once;
 *   over    -> its time has passed: the map no longer has it, and it is gone once its last counts are stored.
 *
 * A row has the id of the node and holds totals of that node and step. So storing an entry twice changes nothing, and a
 * node that starts again begins new rows. Counts of a node that is killed are lost for the time since it last stored
 * them. With MAX_SUBJECTS in one minute the others are counted for their project only. With MAX_CHANGED entries that
 * could not be stored the oldest are dropped.
 */
export type Step = 'minute' | 'hour';

export interface Counts {
  /** Events of a project or source; deliveries made for an endpoint. */
  accepted: number;
  delivered: number;
  failed: number;
  attempts: number;
  failedAttempts: number;
}

export interface TrafficEntry extends Counts {
  readonly projectId: string;
  readonly subjectId: string;
  readonly step: Step;
  readonly startMs: number;
  /** Successful deliveries by latency. Null: none yet. */
  latencies: Uint32Array | null;
  isChanged: boolean;
}

interface Subject {
  minute: TrafficEntry;
  hour: TrafficEntry;
}

export interface Origin {
  projectId: string;
  sourceId: string | null;
}

/** The end of a delivery's attempt. */
export interface CountedOutcome extends Origin {
  endpointId: string;
  /** Null: no request was made, or it does not count. */
  attempt: 'success' | 'failure' | null;
  end: 'Success' | 'Failure' | null;
  latencyMs: number | null;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const MAX_SUBJECTS = 50_000;
const MAX_CHANGED = 200_000;

/** Bounds of latencies grow by the square root of 2: from 1 ms to 37 hours. */
export const LATENCY_BUCKETS = 56;
const PER_DOUBLING = 2;

export class Traffic {
  readonly #now: () => number;
  #subjects = new Map<string, Subject>();
  #hours = new Map<string, TrafficEntry>();
  #minuteMs = 0;
  #hourMs = 0;
  #changed: TrafficEntry[] = [];
  #dropped = 0;

  /** `now`: the database's time in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** An event was stored, with its deliveries so far. */
  accepted(event: Origin, deliveries: readonly { endpointId: string }[]): void {
    this.#turn();
    this.#accepted(event.projectId, event.projectId);
    if (event.sourceId !== null) this.#accepted(event.projectId, event.sourceId);
    for (const { endpointId } of deliveries) this.#accepted(event.projectId, endpointId);
  }

  /** Deliveries were made later than their event: a large fan-out or a replay. */
  made(projectId: string, deliveries: readonly { endpointId: string }[]): void {
    this.#turn();
    for (const { endpointId } of deliveries) this.#accepted(projectId, endpointId);
  }

  finished(outcome: CountedOutcome): void {
    const { projectId, endpointId, sourceId } = outcome;
    this.#turn();
    this.#finished(outcome, projectId);
    this.#finished(outcome, endpointId);
    if (sourceId !== null) this.#finished(outcome, sourceId);
  }

  /** Entries with counts that are not stored yet, the oldest first. They count on: read them at once. */
  takeChanged(limit: number): TrafficEntry[] {
    const taken = this.#changed.splice(0, limit);
    for (const entry of taken) entry.isChanged = false;
    return taken;
  }

  /** Takes back entries that could not be stored. Entries that changed since are in the list already. */
  giveBack(entries: readonly TrafficEntry[]): void {
    const missing = entries.filter((entry) => !entry.isChanged);
    for (const entry of missing) entry.isChanged = true;
    this.#changed = [...missing, ...this.#changed];
    const over = this.#changed.length - MAX_CHANGED;
    if (over > 0) this.#dropped += this.#changed.splice(0, over).length;
  }

  /** How many entries were dropped since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  #finished(outcome: CountedOutcome, subjectId: string): void {
    const subject = this.#subject(outcome.projectId, subjectId);
    if (subject === undefined) return;
    countOutcome(subject.minute, outcome);
    countOutcome(subject.hour, outcome);
    this.#note(subject);
  }

  #accepted(projectId: string, subjectId: string): void {
    const subject = this.#subject(projectId, subjectId);
    if (subject === undefined) return;
    subject.minute.accepted += 1;
    subject.hour.accepted += 1;
    this.#note(subject);
  }

  #note({ minute, hour }: Subject): void {
    if (!minute.isChanged) {
      minute.isChanged = true;
      this.#changed.push(minute);
    }
    if (hour.isChanged) return;
    hour.isChanged = true;
    this.#changed.push(hour);
  }

  /** Begins the next minute when it is time. */
  #turn(): void {
    const nowMs = this.#now();
    if (nowMs >= this.#minuteMs + MINUTE_MS) this.#nextMinute(nowMs);
  }

  #subject(projectId: string, subjectId: string): Subject | undefined {
    let subject = this.#subjects.get(subjectId);
    if (subject !== undefined) return subject;
    if (this.#subjects.size >= MAX_SUBJECTS && subjectId !== projectId) return undefined;
    const owner = { projectId, subjectId };
    let hour = this.#hours.get(subjectId);
    if (hour === undefined) {
      hour = newEntry(owner, 'hour', this.#hourMs);
      this.#hours.set(subjectId, hour);
    }
    subject = { minute: newEntry(owner, 'minute', this.#minuteMs), hour };
    this.#subjects.set(subjectId, subject);
    return subject;
  }

  /** The maps begin empty: a subject without traffic takes no memory. */
  #nextMinute(nowMs: number): void {
    this.#minuteMs = nowMs - (nowMs % MINUTE_MS);
    this.#subjects = new Map();
    const hourMs = nowMs - (nowMs % HOUR_MS);
    if (hourMs !== this.#hourMs) this.#hours = new Map();
    this.#hourMs = hourMs;
  }
}

function countOutcome(entry: TrafficEntry, { attempt, end, latencyMs }: CountedOutcome): void {
  if (attempt !== null) entry.attempts += 1;
  if (attempt === 'failure') entry.failedAttempts += 1;
  if (end === 'Success') entry.delivered += 1;
  if (end === 'Failure') entry.failed += 1;
  if (latencyMs === null) return;
  entry.latencies ??= new Uint32Array(LATENCY_BUCKETS);
  entry.latencies[latencyBucket(latencyMs)]! += 1;
}

function newEntry(
  owner: { projectId: string; subjectId: string },
  step: Step,
  startMs: number,
): TrafficEntry {
  const counts = { accepted: 0, delivered: 0, failed: 0, attempts: 0, failedAttempts: 0 };
  return { ...owner, step, startMs, ...counts, latencies: null, isChanged: false };
}

export function latencyBucket(ms: number): number {
  if (!(ms >= 1)) return 0;
  return Math.min(LATENCY_BUCKETS - 1, 1 + Math.floor(PER_DOUBLING * Math.log2(ms)));
}

/** Bucket 0 is below 1 ms. */
const upperBoundMs = (bucket: number) => 2 ** (bucket / PER_DOUBLING);
const lowerBoundMs = (bucket: number) => (bucket === 0 ? 0 : upperBoundMs(bucket - 1));

/** Estimated within its bucket, so at most 41 % too high or too low. Null without any. */
export function percentileMs(counts: ReadonlyMap<number, number>, share: number): number | null {
  const sorted = [...counts].sort(([a], [b]) => a - b);
  const wanted = share * sorted.reduce((sum, [, count]) => sum + count, 0);
  let before = 0;
  for (const [bucket, count] of sorted) {
    if (count > 0 && before + count >= wanted) {
      const low = lowerBoundMs(bucket);
      return low + ((wanted - before) / count) * (upperBoundMs(bucket) - low);
    }
    before += count;
  }
  return null;
}
