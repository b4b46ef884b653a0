import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { covers, resourceSettings } from '../../scripts/setting-sections.ts';
import { settings } from '../../src/settings/settings.ts';

/**
 * Every setting has a test that sees its effect on the real thing. A line above the test names the settings:
 * `proves Endpoints: url, secret`, as a comment.
 */
const ROOT = join(import.meta.dirname, '../..');
const TAG = /^ *\/\/ proves ([\w ]+): (.+)$/;
const TEST = /^ *(test|it|check)(\.\w+)*\(/;

/** Settings for people or for older callers, which change nothing. */
const LABELS: Record<string, string[]> = {
  Projects: ['signature.versions.uid', 'signature.versions.created_at', 'meta_event.type'],
  Endpoints: ['name', 'description'],
  Subscriptions: ['name'],
  Filters: ['is_flattened'],
  'Event types': ['category', 'description'],
  'Portal links': ['name'],
  Sources: ['name'],
};

const wanted: Record<string, string[]> = {
  ...Object.fromEntries(
    Object.entries(resourceSettings).map(([section, byName]) => [section, [...byName.keys()]]),
  ),
  Instance: Object.values(settings).map(({ env }) => env),
};

interface Proof {
  section: string;
  names: string[];
  /** The file and line of the tag. */
  at: string;
  isAboveTest: boolean;
}

function proofsIn(file: string): Proof[] {
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n');
  return lines.flatMap((line, n) => {
    const [, section = '', names = ''] = TAG.exec(line) ?? [];
    if (section === '') return [];
    const below = lines.slice(n).find((each) => !TAG.test(each)) ?? '';
    return [{ section, names: names.split(', '), at: `${file}:${n + 1}`, isAboveTest: TEST.test(below) }];
  });
}

const proofs = globSync('{test,src}/**/*.ts', { cwd: ROOT }).flatMap(proofsIn);

function differences(section: string, names: string[]): { missing: string[]; unknown: string[] } {
  const all = wanted[section] ?? [];
  return {
    missing: all.filter((setting) => !names.some((name) => covers(name, setting))),
    unknown: names.filter((name) => !all.some((setting) => covers(name, setting))),
  };
}

const none = { missing: [], unknown: [] };

describe.each(Object.keys(wanted))('settings of %s', (section) => {
  const labels = LABELS[section] ?? [];
  const proved = proofs.filter((proof) => proof.section === section).flatMap(({ names }) => names);

  it('each have a proof, and each proof has a setting', () => {
    expect(wanted[section]?.length).toBeGreaterThan(3);
    expect(differences(section, [...proved, ...labels])).toEqual(none);
  });

  it('have no proof if they are labels', () => {
    expect(proved.filter((name) => labels.includes(name))).toEqual([]);
  });
});

it('each proof is of a known section and stands directly above a test', () => {
  const wrong = proofs.filter(({ section, isAboveTest }) => !isAboveTest || wanted[section] === undefined);
  expect(wrong.map(({ at }) => at)).toEqual([]);
});
