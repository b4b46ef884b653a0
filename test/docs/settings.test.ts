import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CreateEndpoint, UpdateEndpoint } from '../../src/api/endpoint-schema.ts';
import { CreateEventType, UpdateEventType } from '../../src/api/event-type-schema.ts';
import { CreateFilter, UpdateFilter } from '../../src/api/filter-schema.ts';
import { CreatePortalLink, UpdatePortalLink } from '../../src/api/portal-link-schema.ts';
import { CreateSource, UpdateSource } from '../../src/api/source-schema.ts';
import { CreateSubscription, UpdateSubscription } from '../../src/api/subscription-schema.ts';
import { settings } from '../../src/config.ts';
import { ProjectConfig } from '../../src/domain/project-config.ts';

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/settings.md'), 'utf8');

/** Settings that are taken and have no effect; each with its row in the page that says so. */
const WITHOUT_EFFECT = ['pub_sub.* of Sources'];

/** Settings that only tell things apart. */
const LABELS =
  /^(name|description|category|is_flattened|signature\.versions\.(uid|created_at)|meta_event\.type)$/;

interface Schema {
  properties?: Record<string, object>;
  items?: Schema;
}

/** The dotted names of all that can be set. */
function leaves(schema: object, prefix = ''): string[] {
  const { properties: own, items } = schema as Schema;
  const properties = own ?? items?.properties;
  if (properties === undefined) return [prefix];
  return Object.entries(properties).flatMap(([name, below]) =>
    leaves(below, prefix === '' ? name : `${prefix}.${name}`),
  );
}

const tables: Record<string, string[]> = {
  Projects: leaves(ProjectConfig),
  Endpoints: [...leaves(CreateEndpoint), ...leaves(UpdateEndpoint)],
  Subscriptions: [...leaves(CreateSubscription), ...leaves(UpdateSubscription)],
  Filters: [...leaves(CreateFilter), ...leaves(UpdateFilter)],
  'Event types': [...leaves(CreateEventType), ...leaves(UpdateEventType)],
  'Portal links': [...leaves(CreatePortalLink), ...leaves(UpdatePortalLink)],
  Sources: [...leaves(CreateSource), ...leaves(UpdateSource)],
  Instance: Object.values(settings).map(({ env }) => env),
};

interface Row {
  names: string[];
  effect: string;
  seen: string;
}

function rowsOf(section: string): Row[] {
  const text = page.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  return [...text.matchAll(/^\| (`.+?) \| (.+?) \| (.+?) \|$/gm)].map(
    ([, names = '', effect = '', seen = '']) => ({
      names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
      effect,
      seen,
    }),
  );
}

const covers = (name: string, setting: string): boolean =>
  name === setting || (name.endsWith('.*') && setting.startsWith(name.slice(0, -1)));

describe.each(Object.keys(tables))('docs/settings.md, %s', (section) => {
  const rows = rowsOf(section);
  const names = rows.flatMap((row) => row.names);
  const wanted = [...new Set(tables[section])];

  it('has every setting, and none that is not there', () => {
    expect(wanted.length).toBeGreaterThan(3);
    expect(wanted.filter((setting) => !names.some((name) => covers(name, setting)))).toEqual([]);
    expect(names.filter((name) => !wanted.some((setting) => covers(name, setting)))).toEqual([]);
  });

  it('names a test that is there for each, but for labels and what is listed here', () => {
    const problems = rows.flatMap(({ names: [name = ''], seen }) => {
      if (seen === 'label') return LABELS.test(name) ? [] : [`${name} is no label`];
      if (seen === 'not yet')
        return WITHOUT_EFFECT.includes(`${name} of ${section}`) ? [] : [`${name} has no effect`];
      const [, path = '', title = ''] = /^`((?:test|src)\/\S+\.test\.ts)`: (.+)$/.exec(seen) ?? [];
      if (!existsSync(join(ROOT, path)) || path === '') return [`${name}: no file ${path}`];
      return readFileSync(join(ROOT, path), 'utf8').includes(title) ? [] : [`${name}: no test "${title}"`];
    });
    expect(problems).toEqual([]);
  });
});

it('what is listed as without effect has a row that says so', () => {
  const said = Object.keys(tables).flatMap((section) =>
    rowsOf(section)
      .filter(({ seen }) => seen === 'not yet')
      .flatMap(({ names }) => names.map((name) => `${name} of ${section}`)),
  );
  expect(said).toEqual(WITHOUT_EFFECT);
});
