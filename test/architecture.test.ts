import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VERSION } from '../src/platform/version.ts';
import { settings } from '../src/settings/settings.ts';
import { temporaryFolder } from './support/samples/temporary-folder.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const sources = globSync('src/**/*.ts', { cwd: ROOT });
const clientSources = globSync('client/src/**/*.ts', { cwd: ROOT });
const webSources = globSync('web/src/**/*.{ts,tsx}', { cwd: ROOT });
const program = sources.filter((source) => !source.endsWith('.test.ts'));

interface Cruise {
  modules: { source: string; dependencies: { resolved: string }[] }[];
  summary: { violations: { rule: { name: string }; from: string }[] };
}

/** The import rules applied to a folder. dependency-cruiser exits with the number of violations. */
async function cruise(folder: string): Promise<Cruise> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs'),
      'src',
      'client/src',
      'web/src',
      '--config',
      join(ROOT, '.dependency-cruiser.cjs'),
      '--output-type',
      'json',
    ],
    { cwd: folder, maxBuffer: 64 * 2 ** 20 },
  ).catch((error: Error & { stdout: string }) => {
    if (error.stdout === '') throw error;
    return error;
  });
  return JSON.parse(stdout) as Cruise;
}

describe('the imports of src', () => {
  let report: Cruise;
  beforeAll(async () => {
    report = await cruise(ROOT);
  });

  it('break no rule', () => {
    expect(report.summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`)).toEqual([]);
  });

  it('of the gallery show every part of the pages', () => {
    const shown = new Set(
      report.modules
        .filter(({ source }) => source.startsWith('web/src/gallery/'))
        .flatMap(({ dependencies }) => dependencies.map(({ resolved }) => resolved)),
    );
    // These are inside of others.
    const inner = ['code/code-editor', 'tables/data-row', 'tables/tick'].map(
      (part) => `web/src/ui/${part}.tsx`,
    );
    const parts = webSources.filter((source) => /^web\/src\/ui\/.*\.tsx$/.test(source));
    expect(parts.filter((part) => !shown.has(part) && !inner.includes(part))).toEqual([]);
  });

  it('use every permission of layers.json', () => {
    const layers = JSON.parse(read('layers.json')) as Record<string, string[]>;
    const room = (path: string) => dirname(path).split('/').slice(1, 3).join('/');
    const uses = (from: string, to: string) => {
      const isRoom = from.includes('/');
      const at = (path: string) => (isRoom ? room(path) : room(path).split('/')[0]);
      return report.modules.some(
        ({ source, dependencies }) =>
          source.startsWith('src/') &&
          !source.endsWith('.test.ts') &&
          at(source) === from &&
          dependencies.some(({ resolved }) => resolved.startsWith('src/') && at(resolved) === to),
      );
    };
    const unused = Object.entries(layers).flatMap(([from, allowed]) =>
      allowed.filter((to) => !uses(from, to)).map((to) => `${from} -> ${to}`),
    );
    expect(unused).toEqual([]);
  });

  // The cruise finds nothing, and no violation either, when it cannot read TypeScript.
  it('are all seen', () => {
    const seen = new Set(report.modules.map(({ source }) => source));
    expect(sources.length).toBeGreaterThan(100);
    expect(clientSources.length).toBeGreaterThan(8);
    expect(webSources.length).toBeGreaterThan(50);
    expect([...sources, ...clientSources, ...webSources].filter((source) => !seen.has(source))).toEqual([]);
    const edges = report.modules.flatMap(({ dependencies }) => dependencies);
    expect(edges.length).toBeGreaterThan(2 * sources.length);
  });
});

describe('a forbidden import is reported', () => {
  const folder = temporaryFolder(afterAll);
  let violations: string[];

  const files: Record<string, string> = {
    'src/platform/upwards.ts': "import { one } from '../domain/one.ts';\nexport const upwards = one;\n",
    'src/platform/types-upwards.ts':
      "import type { One } from '../domain/one.ts';\nexport type Upwards = One;\n",
    'src/domain/one.ts':
      "import type { Two } from './two.ts';\nexport type One = Two;\nexport const one = 1;\n",
    'src/domain/two.ts': "import type { One } from './one.ts';\nexport type Two = One | string;\n",
    'src/domain/brokers/broker-fields.ts':
      "import { one } from '../one.ts';\nexport const brokerFields = one;\n",
    'src/domain/re-exported.ts': "export { row } from '../store/queue/row.ts';\n",
    'src/store/history/upwards.ts': "import { row } from '../queue/row.ts';\nexport const upwards = row;\n",
    'src/store/queue/row.ts': "import type pg from 'pg';\nexport const row: pg.Pool[] = [];\n",
    'src/domain/sql.ts': "export const later = () => import('pg');\n",
    'src/brokers/kafka/kafka.ts': 'export const kafka = 1;\n',
    'src/brokers/eager.ts': "import { kafka } from './kafka/kafka.ts';\nexport const eager = kafka;\n",
    'src/brokers/fine.ts': "export const later = () => import('./kafka/kafka.ts');\n",
    'src/matcher/missing.ts': "import { gone } from './gone.ts';\nexport const missing = gone;\n",
    'src/store/changes/save.ts': 'export const save = () => 1;\n',
    'src/engine/saves.ts': "import { save } from '../store/changes/save.ts';\nexport const saves = save;\n",
    'src/api/http/saves.ts':
      "import type { save } from '../../store/changes/save.ts';\nexport type Saves = typeof save;\n",
    'src/cli/remote/server.ts':
      "import { save } from '../../store/changes/save.ts';\nexport const server = save;\n",
    'src/control/fine.ts': "import { save } from '../store/changes/save.ts';\nexport const fine = save;\n",
    'client/src/of-the-server.ts':
      "import type { One } from '../../src/domain/one.ts';\nexport type OfTheServer = One;\n",
    'client/src/fine.ts': 'export const fine = 1;\n',
    'web/src/ui/upwards.ts': "import { page } from '../parts/page.ts';\nexport const upwards = page;\n",
    'web/src/ui/client.ts':
      "import type { Posthorn } from 'posthorn-client';\nexport type Client = Posthorn;\n",
    'web/src/parts/page.ts': 'export const page = 1;\n',
    'web/src/routes/one/beside.ts': "import { two } from '../two/two.ts';\nexport const beside = two;\n",
    'web/src/routes/two/two.ts': "import { page } from '../../parts/page.ts';\nexport const two = page;\n",
    'web/src/data/server.ts':
      "import { one } from '../../../src/domain/one.ts';\nexport const server = one;\n",
    'web/src/parts/link.ts':
      "import { useRouter } from '@tanstack/react-router';\nexport const link = useRouter;\n",
    'web/src/portal/main.tsx': "import { link } from '../parts/link.ts';\nexport const main = link;\n",
    'client/src/posthorn.ts': 'export class Posthorn {}\n',
    'src/signing/fine.ts': "import { one } from '../domain/one.ts';\nexport const fine = one;\n",
  };

  beforeAll(async () => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(folder, dirname(path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'tsconfig.json'), read('tsconfig.json'));
    await writeFile(join(folder, 'package.json'), read('package.json'));
    violations = (await cruise(folder)).summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`);
  });

  it.each([
    ['of a higher layer', 'platform-imports: src/platform/upwards.ts'],
    ['of a type of a higher layer', 'platform-imports: src/platform/types-upwards.ts'],
    ['of a room beside it', 'store/history-imports: src/store/history/upwards.ts'],
    ['passed on by an export', 'domain-imports: src/domain/re-exported.ts'],
    ['of the server by a command that calls one', 'remote-commands-know-no-server: src/cli/remote/server.ts'],
    ['of a package that belongs to another folder', 'sql-only-in-store: src/domain/sql.ts'],
    ['of a kind of broker, at the start', 'kinds-of-brokers-load-when-needed: src/brokers/eager.ts'],
    ['of a statement that changes config', 'config-changes-only-in-control: src/engine/saves.ts'],
    ['of the type of such a statement', 'config-changes-only-in-control: src/api/http/saves.ts'],
    ['of the server in the client', 'client-stands-alone: client/src/of-the-server.ts'],
    ['of a higher layer of the pages', 'web-ui-imports: web/src/ui/upwards.ts'],
    [
      'by the settings of brokers, which the pages read',
      'broker-fields-alone: src/domain/brokers/broker-fields.ts',
    ],
    ['of the client in ui', 'web-client-only-in-data: web/src/ui/client.ts'],
    ['of another page', 'web-pages-apart: web/src/routes/one/beside.ts'],
    [
      'of the dashboard in the portal, by a part of both',
      'web-portal-without-dashboard: web/src/portal/main.tsx',
    ],
    ['of the server in the pages', 'web-on-client-only: web/src/data/server.ts'],
    ['of a file that is not there', 'resolvable: src/matcher/missing.ts'],
  ])('%s', (_what, violation) => {
    expect(violations).toContain(violation);
  });

  it('in a cycle, of types as well', () => {
    expect(violations.filter((line) => line.startsWith('no-cycles: src/domain/'))).not.toEqual([]);
  });

  it('and nothing else is', () => {
    expect(
      violations.filter((line) => line.includes('fine.ts') || line.includes('src/store/queue/')),
    ).toEqual([]);
  });
});

describe('the house', () => {
  const layers = JSON.parse(read('layers.json')) as Record<string, string[]>;
  const places = new Set(
    sources.flatMap((source) => {
      const [, folder = '', room = ''] = dirname(source).split('/');
      return room === '' ? [folder] : [folder, `${folder}/${room}`];
    }),
  );

  it('has a rule for every folder of src, and a folder for every rule', () => {
    expect(Object.keys(layers).toSorted()).toEqual([...places].filter((place) => place !== '').toSorted());
  });

  it('names only folders in its rules', () => {
    expect(
      Object.values(layers)
        .flat()
        .filter((place) => !places.has(place)),
    ).toEqual([]);
  });

  it('has one file outside of its folders', () => {
    expect(sources.filter((source) => dirname(source) === 'src')).toEqual(['src/main.ts']);
  });

  it('has no folder with too many files', () => {
    const others = globSync('{bench,client/src,scripts,test,web/src}/**/*.{ts,tsx}', { cwd: ROOT });
    const crowded = (files: string[], most: number) =>
      [...Map.groupBy(files, (file) => dirname(file))]
        .filter(([, { length }]) => length > most)
        .map(([folder]) => folder);
    // The queue is one table and one protocol: to divide its statements would only hide which belong together.
    const isOfQueue = (file: string) => dirname(file) === 'src/store/queue';
    const rest = program.filter((file) => !isOfQueue(file));
    expect([...crowded(rest, 20), ...crowded(program.filter(isOfQueue), 24), ...crowded(others, 24)]).toEqual(
      [],
    );
  });

  it('is described in ARCHITECTURE.md by the file of rules that are applied', () => {
    expect(read('ARCHITECTURE.md')).toContain('[layers.json](layers.json) says what each folder may import');
  });

  it('decides in its gate alone whether a delivery may go', () => {
    const stateOfEndpoint =
      /\bstatus [!=]== '(active|inactive|paused)'|\b(breakerState|halfOpenAt)\(|\.breakers?(\.get)?\(|\bdelivery ([!=]==|<>) 'push'|\b(isFetched|fetchedKinds)\b/;
    // They read the state of an endpoint for something else.
    const others = {
      'src/agents/events/agent-endpoint.ts': 'a refresh makes an inactive endpoint active',
      'src/agents/events/mcp-events.ts': 'tells an agent whether its endpoint is active',
      'src/api/endpoints/endpoint-input.ts': 'a push endpoint needs a URL',
      'src/api/endpoints/endpoint-view.ts': 'shows the state of the breaker',
      'src/api/health/endpoint-health.ts': 'says how an endpoint does',
      'src/api/trials/endpoint-test.ts': 'refuses the test of an endpoint that is not active',
      'src/engine/health/breaker-changes.ts': 'opens and closes the breaker',
      'src/engine/health/endpoint-health.ts': 'opens and closes the breaker',
      'src/engine/health/outcome-watch.ts': 'a pull endpoint has no breaker',
      'src/engine/pull/pull-queue.ts': 'refuses consumers of a push endpoint',
      'src/jobs/send-now-job.ts': 'asks for a probe of an open breaker',
      'src/routing/project-routing.ts': 'the status of a subscription, and where breakers are kept',
      'src/store/queue/queue-depth.ts': 'tells apart what waits for consumers in metrics',
    };
    const clients = /^src\/(cli|control|domain|project-file|remote)\//;
    const reading = program.filter((source) => !clients.test(source) && stateOfEndpoint.test(read(source)));
    expect(reading.toSorted()).toEqual(['src/routing/gate.ts', ...Object.keys(others)].toSorted());
  });

  it('has every table in ARCHITECTURE.md', () => {
    const page = read('ARCHITECTURE.md');
    const schema = globSync('migrations/*.sql', { cwd: ROOT }).map(read).join('');
    const tables = [...schema.matchAll(/^create table (\w+)/gm)].map(([, name = '']) => name);
    expect(tables.length).toBeGreaterThan(30);
    expect(tables.filter((table) => !page.includes(`\`${table}\``))).toEqual([]);
  });

  it('has no long files', () => {
    expect(program.filter((source) => read(source).split('\n').length > 400)).toEqual([]);
  });

  it('has no file with a meaningless name', () => {
    const vague = /\b(utils?|helpers?|manager|misc|common|index)\b/;
    expect([...sources, ...webSources].filter((source) => vague.test(basename(source)))).toEqual([]);
  });

  it('knows its own version, and the client has the same', () => {
    const versionOf = (path: string) => (JSON.parse(read(path)) as { version: string }).version;
    expect(VERSION).toBe(versionOf('package.json'));
    expect(versionOf('client/package.json')).toBe(VERSION);
  });

  it('has no setting that nothing reads', () => {
    // Read by a function of exposure.ts, so that the function has to be in use.
    const throughFunction: Record<string, RegExp> = {
      egress: /\begressRule\(/,
      metrics: /\bservesMetrics\(/,
    };
    const text = program
      .filter((source) => !['src/settings/settings.ts', 'src/settings/exposure.ts'].includes(source))
      .map(read)
      .join('\n');
    const unread = Object.keys(settings).filter(
      (name) => !(throughFunction[name] ?? new RegExp(`\\bconfig\\.${name}\\b`)).test(text),
    );
    expect(unread).toEqual([]);
  });
});
