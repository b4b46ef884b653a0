import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders whose tests start, kill or freeze whole programs. */
export const PROGRAMS = [
  'src/sandbox',
  ...['backup', 'bench', 'chaos', 'crash', 'embedded', 'processes', 'secrets', 'web'].map(
    (name) => `test/${name}`,
  ),
];
/** The folder of the tests against real brokers. */
export const BROKERS = 'test/brokers';

/** Files that take more than a minute. They start early, so that none of them runs alone at the end. */
const LONG = [
  'test/engine/limits/rate-limits',
  'test/web/dashboard',
  'test/bench/scaling',
  'test/chaos/three-nodes',
  'test/web/portal',
  'src/sandbox/hostile',
  'test/brokers/kafka',
  'test/brokers/postgres-faults',
  'test/brokers/sqs-settings',
  'test/brokers/postgres-conformance',
  'test/brokers/sqs',
  'test/brokers/amqp',
  'test/brokers/google',
  'test/crash/rate-lease',
];

/**
 * Spreads the tests that wait for much of their time (of brokers, and of whole programs) over those that compute. One
 * after the other they would leave the machine idle. They do not come first, because the brokers are fetched then, nor
 * last, because they are long. The unit tests are short. They come last and fill the gaps.
 */
const FROM = 0.1;
const TO = 0.8;

export class SpreadWaiting extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const unit = sorted.filter(({ project }) => project.name === 'unit');
    const waiting = sorted.filter(waits).toSorted((a, b) => rank(a) - rank(b));
    const computing = sorted.filter((file) => !waits(file) && file.project.name !== 'unit');
    const place = (n: number) => (FROM + ((TO - FROM) * n) / waiting.length) * computing.length;
    const cuts = [...waiting.keys()].map((n) => Math.floor(place(n)));
    return [
      ...computing.slice(0, cuts[0]),
      ...waiting.flatMap((file, n) => [file, ...computing.slice(cuts[n], cuts[n + 1])]),
      ...unit,
    ];
  }
}

/** The place among the long ones. The others come after them. */
function rank({ moduleId }: TestSpecification): number {
  const place = LONG.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
  return place === -1 ? LONG.length : place;
}

const waits = (file: TestSpecification): boolean =>
  rank(file) < LONG.length || [...PROGRAMS, BROKERS].some((folder) => file.moduleId.includes(`/${folder}/`));
