import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sample } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf } from '../subjects.ts';
import { type SeveralCells, startCells } from './several-cells.ts';

/**
 * The server of one cell is killed and stays away. Projects of another cell are measured before and meanwhile. The callers
 * of the cell that is away go on, and everything that they were answered 201 must arrive in the end.
 */
const RATE_PER_SECOND = 300;
const CONNECTIONS = 64;
const ARRIVAL_MS = 120_000;

export interface AwayPlan {
  seconds: number;
  /** The home is the first cell. */
  cell: 'home' | 'other';
}

export async function cellAway(stage: Stage, { seconds, cell }: AwayPlan): Promise<Sample> {
  const several = await startCells(stage, { cells: 3, servers: 3 });
  const place = cell === 'home' ? 0 : 2;
  const [measured, lost] = [several.tenants[1], several.tenants[place]] as [Service, Service];
  const callers = await Callers.start(lost);
  try {
    await measured.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
    const others = { ...subjectOf(measured), isRecorded: async () => true };
    const measure = () =>
      measureDeliveries(stage, others, {
        eventType: LOAD_EVENT,
        seconds,
        connections: CONNECTIONS,
        ratePerSecond: RATE_PER_SECOND,
      });
    await measure();
    const before = await measure();
    await several.servers[place]?.kill();
    const killedAt = Date.now();
    const [during, late] = await Promise.all([
      measure(),
      cell === 'home' ? lateNode(several, measured) : { lateAccepted: Number.NaN, lateRefused: Number.NaN },
    ]);
    await several.servers[place]?.restart();
    const restartedAt = Date.now();
    const back = await callers.back(restartedAt);
    await callers.stop();
    return {
      ...ratios(before, during),
      ...late,
      callersAccepted: callers.accepted.size,
      callersRefused: callers.refusals(killedAt, restartedAt),
      callersOddAnswers: callers.odd(killedAt, restartedAt),
      callersLost: await callers.lost(),
      backSeconds: back / 1_000,
    };
  } finally {
    await callers.stop();
    await several.stop();
  }
}

function ratios(before: Sample, during: Sample): Sample {
  const of = (name: string) => (during[name] as number) / (before[name] as number);
  return {
    p50BeforeMs: before['p50Ms'] as number,
    p99BeforeMs: before['p99Ms'] as number,
    p50Ms: during['p50Ms'] as number,
    p99Ms: during['p99Ms'] as number,
    p99Ratio: of('p99Ms'),
    ackP99Ratio: of('ackP99Ms'),
    events: (before['events'] as number) + (during['events'] as number),
    lost: (before['lost'] as number) + (during['lost'] as number),
    duplicates: (before['duplicates'] as number) + (during['duplicates'] as number),
  };
}

/** A node that starts while the home is away, and calls at it with the key of a project. */
async function lateNode(several: SeveralCells, measured: Service): Promise<Sample> {
  const node = await several.addNode();
  const { project_id, api_key } = measured.credentials;
  const counts = { lateAccepted: 0, lateRefused: 0 };
  for (let n = 0; n < 50; n += 1) {
    const status = await broadcast(
      { url: node.credentials.url, project_id, api_key },
      { event_type: 'late', data: { n } },
    );
    counts[status === '201' ? 'lateAccepted' : 'lateRefused'] += 1;
  }
  return counts;
}

type Place = Pick<Service['credentials'], 'url' | 'project_id' | 'api_key'>;

/** The status, and the code of a refusal. */
async function broadcast({ url, project_id, api_key }: Place, body: object): Promise<string> {
  try {
    const response = await fetch(`${url}/api/v1/projects/${project_id}/events/broadcast`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const { code } = (await response.json()) as { code?: string };
    return response.status === 201 ? '201' : `${response.status} ${code}`;
  } catch (error) {
    return (error as Error).message;
  }
}

const EVERY_MS = 50;

/** Calls to a project of the cell that goes away, one after another, and the receiver of its events. */
class Callers {
  readonly accepted = new Map<number, number>();
  readonly #answers: { at: number; said: string }[] = [];
  readonly #arrived = new Set<number>();
  readonly #server: Server;
  #isOver = false;
  #running: Promise<void> = Promise.resolve();

  private constructor() {
    this.#server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      request.on('end', () => {
        this.#arrived.add((JSON.parse(text) as { n: number }).n);
        response.end();
      });
    });
  }

  static async start(tenant: Service): Promise<Callers> {
    const callers = new Callers();
    await new Promise<void>((resolve) => callers.#server.listen(0, '127.0.0.1', resolve));
    const { port } = callers.#server.address() as AddressInfo;
    await tenant.subscribe(`http://127.0.0.1:${port}/`, 'called', {
      subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 500 } },
    });
    callers.#running = callers.#run(tenant.credentials);
    return callers;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** Milliseconds until a call is accepted again. */
  async back(from: number): Promise<number> {
    for (;;) {
      const at = [...this.accepted.values()].find((accepted) => accepted > from);
      if (at !== undefined) return at - from;
      await pause(EVERY_MS);
    }
  }

  refusals(from: number, to: number): number {
    return this.#between(from, to).filter((said) => /^503 \w+_unavailable$/.test(said)).length;
  }

  /** Neither accepted nor refused with a reason. */
  odd(from: number, to: number): number {
    const odd = this.#between(from, to).filter((said) => said !== '201' && !/^503 \w+_/.test(said));
    if (odd.length > 0) process.stderr.write(`other answers: ${[...new Set(odd)].join('; ')}\n`);
    return odd.length;
  }

  /** Accepted events that did not arrive. */
  async lost(): Promise<number> {
    const missing = () => [...this.accepted.keys()].filter((n) => !this.#arrived.has(n)).length;
    for (const startedMs = performance.now(); performance.now() - startedMs < ARRIVAL_MS; await pause(100))
      if (missing() === 0) break;
    this.#server.closeAllConnections();
    this.#server.close();
    return missing();
  }

  #between(from: number, to: number): string[] {
    return this.#answers.filter(({ at }) => at >= from && at <= to).map(({ said }) => said);
  }

  async #run(place: Place): Promise<void> {
    for (let n = 0; !this.#isOver; n += 1) {
      const said = await broadcast(place, { event_type: 'called', data: { n } });
      const at = Date.now();
      this.#answers.push({ at, said });
      if (said === '201') this.accepted.set(n, at);
      await pause(EVERY_MS);
    }
  }
}
