import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Each of these takes more than half a minute, most of it waiting. They start first, so that none runs alone at the end. */
const LONG = [
  'test/web/dashboard',
  'test/engine/limits/rate-limits',
  'test/bench/scaling',
  'test/bench/smoke',
  'test/chaos/moves/moves',
  'test/chaos/three-nodes',
  'test/web/portal',
  'test/brokers/kafka',
  'src/sandbox/hostile',
  'src/sandbox/poison',
  'test/deploy/dockerfile',
  'test/engine/limits/rate-limits-delay',
  'test/brokers/postgres-faults',
  'test/brokers/sqs-settings',
  'test/brokers/postgres-conformance',
  'test/brokers/sqs',
  'test/brokers/amqp',
  'test/brokers/google',
  'test/crash/rate-lease',
  'test/properties/queries',
  'test/properties/cursors',
];

/** Folders whose tests start, kill or freeze whole programs, or take minutes. */
const FOLDERS = [
  'backup',
  'bench',
  'brokers',
  'chaos',
  'crash',
  'deploy',
  'embedded',
  'failover',
  'processes',
  'properties',
  'releases',
  'secrets',
];
/** Files of other folders that do. */
const FILES = [
  'src/sandbox/hostile',
  'src/sandbox/poison',
  'test/api/deliveries/large-pages',
  'test/api/portal/portal-samples',
  'test/client/runtimes',
  'test/docs/cli',
  'test/docs/how-to',
  'test/docs/readme',
  'test/engine/first-delivery',
  'test/engine/limits/concurrency',
  'test/engine/limits/hanging-project',
  'test/engine/limits/many-failing-endpoints',
  'test/engine/limits/rate-limits',
  'test/engine/limits/rate-limits-delay',
  'test/ingest/large-payloads',
  'test/start/package',
  'test/store/frozen-database',
  'test/store/hot-finishes',
  'test/store/rolling-upgrade',
  'test/web/dashboard',
  'test/web/portal',
];

/** The files of `npm run test:more`. All others are in `npm test`. */
export const MORE = [
  ...FOLDERS.map((name) => `test/${name}/**/*.test.ts`),
  ...FILES.map((name) => `${name}.test.ts`),
];

/** The unit tests are short. They come last and fill the gaps. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

function rank({ moduleId, project }: TestSpecification): number {
  const place = LONG.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
  if (place !== -1) return place;
  return project.name === 'unit' ? LONG.length + 1 : LONG.length;
}
