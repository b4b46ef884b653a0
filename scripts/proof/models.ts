import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DoneModel } from './done.ts';
import { findJar, runTlc } from './tlc.ts';

/**
 * Checks the models: the protocol holds, and without one of its guards TLC finds the property broken that the guard
 * protects. The configs are model/*.cfg. model/guards.txt says how each guard is taken out.
 */
const MODEL = join(import.meta.dirname, '..', '..', 'model');

interface Check {
  name: string;
  module: string;
  /** The text of its config. */
  config: string;
  /** The property that must not hold. Null: all hold. */
  breaks: string | null;
}

export interface CheckedModel extends DoneModel {
  name: string;
  module: string;
  breaks: string | null;
}

/** A config names its module in its first line; one without is of `order`. */
const moduleOf = (config: string): string => /^\\\* MODULE (\w+)/.exec(config)?.[1] ?? 'order';
const PROPERTY = /^(INVARIANTS|PROPERTIES) (.*)$/gm;

async function configs(): Promise<Check[]> {
  const files = (await readdir(MODEL)).filter((file) => file.endsWith('.cfg')).sort();
  return Promise.all(
    files.map(async (file) => {
      const config = await readFile(join(MODEL, file), 'utf8');
      const name = file.slice(0, -'.cfg'.length);
      const breaks = name.startsWith('broken-')
        ? (/^(?:INVARIANTS|PROPERTIES) (\w+)$/m.exec(config)?.[1] ?? null)
        : null;
      return { name, module: moduleOf(config), config, breaks };
    }),
  );
}

export interface Guard {
  config: string;
  switches: string[];
  breaks: string;
}

/** The lines of guards.txt: config, switches, property. */
export async function guards(): Promise<Guard[]> {
  const text = await readFile(join(MODEL, 'guards.txt'), 'utf8');
  return text.split('\n').flatMap((line) => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    const [config = '', ...rest] = line.trim().split(/ +/);
    return [{ config, switches: rest.slice(0, -1), breaks: rest.at(-1) ?? '' }];
  });
}

/** `GUARD=FALSE` is GUARD, `CHECKS={"node"}` is CHECKS-node. */
function switchName(given: string): string {
  const [constant, value = ''] = given.split('=');
  return ['FALSE', 'TRUE'].includes(value)
    ? `${constant}`
    : `${constant}-${value.replace(/\W+/g, '') || 'none'}`;
}

/** The config without the guard, and with the one property that it protects. */
function withoutGuard(base: Check, { switches, breaks }: Guard): Check {
  let { config } = base;
  const name = [base.name, ...switches.map(switchName), breaks].join('-');
  for (const each of switches) {
    const [constant, value] = each.split('=');
    const line = new RegExp(`^  ${constant} = .*$`, 'm');
    if (!line.test(config)) throw new Error(`${base.name}.cfg has no constant ${constant}`);
    config = config.replace(line, `  ${constant} = ${value?.replaceAll(',', ', ')}`);
  }
  const kind = [...config.matchAll(PROPERTY)].find(([, , names]) => names?.split(' ').includes(breaks))?.[1];
  if (kind === undefined) throw new Error(`${base.name}.cfg has no property ${breaks}`);
  return { ...base, name, config: `${config.replaceAll(PROPERTY, '')}${kind} ${breaks}\n`, breaks };
}

async function allChecks(): Promise<Check[]> {
  const bases = await configs();
  const broken = (await guards()).map((guard) => {
    const base = bases.find(({ name }) => name === guard.config);
    if (base === undefined) throw new Error(`there is no ${guard.config}.cfg`);
    return withoutGuard(base, guard);
  });
  return [...bases, ...broken];
}

/** With names only those whose names begin with one of them. Those that are done are not run again. */
export async function checkModels(
  names: readonly string[],
  say: (line: string) => void,
  done: ReadonlyMap<string, DoneModel> = new Map(),
): Promise<CheckedModel[]> {
  const all = await allChecks();
  const chosen = all.filter(({ name }) => names.length === 0 || names.some((each) => name.startsWith(each)));
  const checked: CheckedModel[] = [];
  for (const { name, module, config, breaks } of chosen) {
    const before = done.get(name);
    if (before !== undefined) {
      checked.push({ ...before, name, module, breaks });
      continue;
    }
    const file = join(tmpdir(), `posthorn-${process.pid}-${name}.cfg`);
    await writeFile(file, config);
    const result = await runTlc(await findJar(), module, file);
    const isAsExpected =
      breaks === null ? result.broken === null : [breaks, 'temporal'].includes(result.broken ?? '');
    const { states, distinct, depth } = result;
    checked.push({ states, distinct, depth, name, module, breaks, isAsExpected });
    if (breaks !== null && isAsExpected) await keep(name, breaks, result.trace);
    const verdict = result.broken === null ? 'holds' : `breaks ${breaks ?? result.broken}`;
    say(
      `${isAsExpected ? 'ok     ' : 'NOT OK '} ${name}: ${verdict}, ${result.states} states, ${result.distinct} distinct, depth ${result.depth}, ${result.seconds.toFixed(1)} s`,
    );
    if (!isAsExpected) say(result.output.slice(-4_000));
  }
  return checked;
}

async function keep(name: string, breaks: string, trace: readonly string[]): Promise<void> {
  const folder = join(MODEL, 'counterexamples');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}.txt`), `${name} breaks ${breaks}\n\n${trace.join('\n')}\n`);
}
