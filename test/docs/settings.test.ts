import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { covers, resourceSettings } from '../../scripts/setting-sections.ts';
import { settings } from '../../src/settings/settings.ts';
import { settingProofs } from './setting-proofs.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Settings that are stored and have no effect. */
const WITHOUT_EFFECT: string[] = [];

/** Settings that only tell things apart. */
const LABELS =
  /^(name|description|category|is_flattened|signature\.versions\.(uid|created_at)|meta_event\.type)$/;

const wanted: Record<string, string[]> = {
  ...Object.fromEntries(
    Object.entries(resourceSettings).map(([section, byName]) => [section, [...byName.keys()]]),
  ),
  Instance: Object.values(settings).map(({ env }) => env),
};

function differences(section: string, names: string[]): { missing: string[]; unknown: string[] } {
  const all = wanted[section] ?? [];
  return {
    missing: all.filter((setting) => !names.some((name) => covers(name, setting))),
    unknown: names.filter((name) => !all.some((setting) => covers(name, setting))),
  };
}

const none = { missing: [], unknown: [] };

describe.each(Object.keys(wanted))('settings of %s', (section) => {
  const proofs = Object.entries(settingProofs[section] ?? {});

  it('each have a proof, and each proof has a setting', () => {
    expect(wanted[section]?.length).toBeGreaterThan(3);
    expect(
      differences(
        section,
        proofs.map(([name]) => name),
      ),
    ).toEqual(none);
  });

  it('are proved by tests that exist, except labels and settings without effect', () => {
    const problems = proofs.flatMap(([name, proof]) => {
      if (proof === 'label') return LABELS.test(name) ? [] : [`${name} is no label`];
      if (proof === 'not yet')
        return WITHOUT_EFFECT.includes(`${name} of ${section}`) ? [] : [`${name} has no effect`];
      if (!existsSync(join(ROOT, proof.file))) return [`${name}: no file ${proof.file}`];
      const hasTest = readFileSync(join(ROOT, proof.file), 'utf8').includes(proof.title);
      return hasTest ? [] : [`${name}: no test "${proof.title}"`];
    });
    expect(problems).toEqual([]);
  });
});

it('settings without effect are marked as such', () => {
  const marked = Object.entries(settingProofs).flatMap(([section, proofs]) =>
    Object.entries(proofs).flatMap(([name, proof]) => (proof === 'not yet' ? [`${name} of ${section}`] : [])),
  );
  expect(marked).toEqual(WITHOUT_EFFECT);
});
