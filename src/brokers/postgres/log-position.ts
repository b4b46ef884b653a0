/**
 * Where a change is in the log of a database, as a text that compares as the log goes: timeline, commit, number in the
 * transaction. A database that is restored to an earlier time, or a standby that is promoted, goes on in a new timeline
 * from there. So what comes after that point is after everything that was stored, and what came before it is a repeat.
 */
export interface Timeline {
  id: number;
  /** The next one begins here. Null: it goes on. */
  end: bigint | null;
}

const TIMELINE_DIGITS = 8;
const LSN_DIGITS = 16;
const INDEX_DIGITS = 10;

export function positionKey(timelines: readonly Timeline[], lsn: bigint, index: number): string {
  const timeline = timelines.find(({ end }) => end === null || lsn < end)?.id ?? 0;
  return [
    timeline.toString(16).padStart(TIMELINE_DIGITS, '0'),
    lsn.toString(16).padStart(LSN_DIGITS, '0'),
    String(index).padStart(INDEX_DIGITS, '0'),
  ].join('/');
}

export function parsePosition(key: string): { timeline: number; lsn: bigint } {
  const [timeline = '0', lsn = '0'] = key.split('/');
  return { timeline: Number.parseInt(timeline, 16), lsn: BigInt(`0x${lsn}`) };
}

/** Lines of `number, where it ended, why`, oldest first. */
export function readTimelines(
  current: number,
  history: string,
  parseLsn: (text: string) => bigint,
): Timeline[] {
  const ended = [...history.matchAll(/^\s*(\d+)\s+([0-9A-F]+\/[0-9A-F]+)/gim)].map((line) => ({
    id: Number(line[1]),
    end: parseLsn(line[2] as string),
  }));
  return [...ended, { id: current, end: null }];
}
