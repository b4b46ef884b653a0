import { readFile } from 'node:fs/promises';

/**
 * The checks and faults that earlier output of `npm run proof` and `npm run model` reports. They need not run again: models
 * and chaos take long, and can run at different times.
 */
export interface DoneModel {
  isAsExpected: boolean;
  states: number;
  distinct: number;
  depth: number;
}

export interface Done {
  models: Map<string, DoneModel>;
  faults: Map<string, boolean>;
}

const MODEL =
  /^(ok|NOT OK) +([\w-]+): (?:holds|breaks \w+), (\d+) states, (\d+) distinct, depth (\d+), [\d.]+ s$/gm;
const FAULT = /^(ok|NOT OK) +fault: (.+)$/gm;

export async function readDone(files: readonly string[]): Promise<Done> {
  const done: Done = { models: new Map(), faults: new Map() };
  for (const file of files) {
    const text = await readFile(file, 'utf8');
    for (const [, verdict, name = '', states, distinct, depth] of text.matchAll(MODEL))
      done.models.set(name, {
        isAsExpected: verdict === 'ok',
        states: Number(states),
        distinct: Number(distinct),
        depth: Number(depth),
      });
    for (const [, verdict, fault = ''] of text.matchAll(FAULT)) done.faults.set(fault, verdict === 'ok');
  }
  return done;
}
